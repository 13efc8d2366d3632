-- The transactions as functions: one round trip each. Money is in hundredths, rates are in ten
-- thousandths. An order of an item that nobody has ends in an error, which rolls it back.

-- Those of the other workload have no tables here.
set local check_function_bodies = off;

create or replace function tpcc_new_order(
    p_w int, p_d int, p_c int, p_items int[], p_suppliers int[], p_quantities int[],
    out o_number int, out o_total bigint
) language plpgsql as $$
declare
    v_taxes int;
    v_w_tax int;
    v_discount int;
    v_price bigint;
    v_stock record;
    v_lines constant int := cardinality(p_items);
begin
    update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w and d_id = p_d
        returning d_next_o_id - 1, d_tax into o_number, v_taxes;
    select c_discount, w_tax into strict v_discount, v_w_tax from customer, warehouse
        where w_id = p_w and c_w_id = w_id and c_d_id = p_d and c_id = p_c;
    insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        values (p_w, p_d, o_number, p_c, current_timestamp, v_lines,
            case when p_w = all (p_suppliers) then 1 else 0 end);
    insert into new_order (no_w_id, no_d_id, no_o_id) values (p_w, p_d, o_number);
    o_total := 0;
    for n in 1 .. v_lines loop
        select i_price into v_price from item where i_id = p_items[n];
        if not found then
            raise exception 'headroom: an unused item';
        end if;
        update stock set
            s_quantity = case when s_quantity - p_quantities[n] >= 10
                then s_quantity - p_quantities[n] else s_quantity - p_quantities[n] + 91 end,
            s_ytd = s_ytd + p_quantities[n],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when p_suppliers[n] = p_w then 0 else 1 end
            where s_w_id = p_suppliers[n] and s_i_id = p_items[n]
            returning s_quantity, s_data, case p_d
                when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
                when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end as district into strict v_stock;
        insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_quantity, ol_amount, ol_dist_info)
            values (p_w, p_d, o_number, n, p_items[n], p_suppliers[n],
                p_quantities[n], p_quantities[n] * v_price, v_stock.district);
        o_total := o_total + p_quantities[n] * v_price;
    end loop;
    o_total := o_total * (10000 - v_discount) / 10000 * (10000 + v_w_tax + v_taxes) / 10000;
end $$;

create or replace function tpcc_customer(p_w int, p_d int, p_last text) returns int
language sql stable as $$
    select (array_agg(c_id order by c_first))[(count(*) + 1) / 2] from customer
        where c_w_id = p_w and c_d_id = p_d and c_last = p_last
$$;

create or replace function tpcc_payment(
    p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last text, p_amount bigint,
    out o_customer int, out o_balance bigint
) language plpgsql as $$
declare
    v_warehouse text;
    v_district text;
begin
    update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w
        returning w_name into strict v_warehouse;
    update district set d_ytd = d_ytd + p_amount where d_w_id = p_w and d_id = p_d
        returning d_name into strict v_district;
    o_customer := case when p_c > 0 then p_c else tpcc_customer(p_c_w, p_c_d, p_last) end;
    update customer set
        c_balance = c_balance - p_amount,
        c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit = 'BC' then substr(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ',
            p_d, ' ', p_w, ' ', p_amount, ' ', c_data), 1, 500) else c_data end
        where c_w_id = p_c_w and c_d_id = p_c_d and c_id = o_customer
        returning c_balance into strict o_balance;
    insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        values (o_customer, p_c_d, p_c_w, p_d, p_w, current_timestamp, p_amount,
            v_warehouse || '    ' || v_district);
end $$;

create or replace function tpcc_order_status(
    p_w int, p_d int, p_c int, p_last text,
    out o_customer int, out o_number int, out o_lines int, out o_text text
) language plpgsql stable as $$
begin
    o_customer := case when p_c > 0 then p_c else tpcc_customer(p_w, p_d, p_last) end;
    select o_id into o_number from orders
        where o_w_id = p_w and o_d_id = p_d and o_c_id = o_customer order by o_id desc limit 1;
    select count(*), string_agg(concat_ws(' ', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount), ',')
        into o_lines, o_text from order_line
        where ol_w_id = p_w and ol_d_id = p_d and ol_o_id = o_number;
end $$;

create or replace function tpcc_delivery(
    p_w int, p_carrier int, out o_delivered int, out o_lines int
) language plpgsql as $$
declare
    v_order int;
    v_customer int;
    v_amount bigint;
    v_count int;
begin
    o_delivered := 0;
    o_lines := 0;
    for d in 1 .. 10 loop
        loop
            -- One that another delivery took meanwhile is no row, though there may be a next.
            select no_o_id into v_order from new_order where no_w_id = p_w and no_d_id = d
                order by no_o_id limit 1 for update;
            exit when found or not exists (
                select from new_order where no_w_id = p_w and no_d_id = d);
        end loop;
        continue when v_order is null;
        delete from new_order where no_w_id = p_w and no_d_id = d and no_o_id = v_order;
        update orders set o_carrier_id = p_carrier
            where o_w_id = p_w and o_d_id = d and o_id = v_order
            returning o_c_id into strict v_customer;
        with changed as (
            update order_line set ol_delivery_d = current_timestamp
                where ol_w_id = p_w and ol_d_id = d and ol_o_id = v_order returning ol_amount
        ) select sum(ol_amount), count(*) into v_amount, v_count from changed;
        update customer set c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = p_w and c_d_id = d and c_id = v_customer;
        o_delivered := o_delivered + 1;
        o_lines := o_lines + v_count;
    end loop;
end $$;

create or replace function tpcc_stock_level(p_w int, p_d int, p_threshold int) returns bigint
language plpgsql stable as $$
declare
    v_next int;
    v_low bigint;
begin
    select d_next_o_id into strict v_next from district where d_w_id = p_w and d_id = p_d;
    select count(distinct s_i_id) into v_low from order_line, stock
        where ol_w_id = p_w and ol_d_id = p_d and ol_o_id >= v_next - 20 and ol_o_id < v_next
        and s_w_id = p_w and s_i_id = ol_i_id and s_quantity < p_threshold;
    return v_low;
end $$;

create or replace function tpcb_change(p_a int, p_t int, p_b int, p_delta bigint) returns bigint
language plpgsql as $$
declare
    v_balance bigint;
begin
    update account set a_balance = a_balance + p_delta where a_id = p_a
        returning a_balance into strict v_balance;
    update teller set t_balance = t_balance + p_delta where t_id = p_t;
    update branch set b_balance = b_balance + p_delta where b_id = p_b;
    insert into ledger (g_t_id, g_b_id, g_a_id, g_delta, g_time, g_filler)
        values (p_t, p_b, p_a, p_delta, current_timestamp, '');
    return v_balance;
end $$;
