-- The transactions as procedures: one round trip each. Money is in hundredths, rates are in ten
-- thousandths. Each is a transaction of its own. An order of an item that nobody has is rolled
-- back, and has the number 0. `//` ends a procedure.

create or replace procedure tpcc_new_order(
    p_w int, p_d int, p_c int, p_local int, p_lines int, p_order json
)
begin
    declare n int default 0;
    declare v_number, v_d_tax, v_w_tax, v_discount, v_item, v_supplier, v_quantity int;
    declare v_price, v_total bigint default 0;
    declare v_district varchar(24);
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    select d_next_o_id, d_tax into v_number, v_d_tax from district
        where d_w_id = p_w and d_id = p_d for update;
    update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w and d_id = p_d;
    select c_discount, w_tax into v_discount, v_w_tax from customer, warehouse
        where w_id = p_w and c_w_id = w_id and c_d_id = p_d and c_id = p_c;
    insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        values (p_w, p_d, v_number, p_c, current_timestamp(6), p_lines, p_local);
    insert into new_order (no_w_id, no_d_id, no_o_id) values (p_w, p_d, v_number);
    while n < p_lines do
        set v_item = json_extract(p_order, concat('$[', 3 * n, ']'));
        set v_supplier = json_extract(p_order, concat('$[', 3 * n + 1, ']'));
        set v_quantity = json_extract(p_order, concat('$[', 3 * n + 2, ']'));
        set n = n + 1;
        set v_price = null;
        select i_price into v_price from item where i_id = v_item;
        if v_price is null then
            rollback;
            set n = p_lines + 1;
        else
            select case p_d
                when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
                when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end into v_district
                from stock where s_w_id = v_supplier and s_i_id = v_item for update;
            update stock set
                s_quantity = case when s_quantity - v_quantity >= 10
                    then s_quantity - v_quantity else s_quantity - v_quantity + 91 end,
                s_ytd = s_ytd + v_quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + case when v_supplier = p_w then 0 else 1 end
                where s_w_id = v_supplier and s_i_id = v_item;
            insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id,
                ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
                values (p_w, p_d, v_number, n, v_item, v_supplier, v_quantity,
                    v_quantity * v_price, v_district);
            set v_total = v_total + v_quantity * v_price;
        end if;
    end while;
    if n > p_lines then
        select 0, 0;
    else
        commit;
        select v_number,
            v_total * (10000 - v_discount) div 10000 * (10000 + v_w_tax + v_d_tax) div 10000;
    end if;
end //

create or replace procedure tpcc_payment(
    p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last varchar(16), p_amount bigint
)
begin
    declare v_warehouse, v_district varchar(10);
    declare v_customer, v_count int;
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    select w_name into v_warehouse from warehouse where w_id = p_w for update;
    update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w;
    select d_name into v_district from district where d_w_id = p_w and d_id = p_d for update;
    update district set d_ytd = d_ytd + p_amount where d_w_id = p_w and d_id = p_d;
    set v_customer = p_c;
    if p_c = 0 then
        select count(*) into v_count from customer
            where c_w_id = p_c_w and c_d_id = p_c_d and c_last = p_last;
        set v_count = (v_count + 1) div 2 - 1;
        select c_id into v_customer from customer
            where c_w_id = p_c_w and c_d_id = p_c_d and c_last = p_last
            order by c_first limit 1 offset v_count;
    end if;
    update customer set
        c_balance = c_balance - p_amount,
        c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit = 'BC' then substr(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ',
            p_d, ' ', p_w, ' ', p_amount, ' ', c_data), 1, 500) else c_data end
        where c_w_id = p_c_w and c_d_id = p_c_d and c_id = v_customer;
    insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        values (v_customer, p_c_d, p_c_w, p_d, p_w, current_timestamp(6), p_amount,
            concat(v_warehouse, '    ', v_district));
    commit;
    select v_customer;
end //

create or replace procedure tpcc_order_status(
    p_w int, p_d int, p_c int, p_last varchar(16)
)
begin
    declare v_customer, v_count, v_number int;
    set v_customer = p_c;
    if p_c = 0 then
        select count(*) into v_count from customer
            where c_w_id = p_w and c_d_id = p_d and c_last = p_last;
        set v_count = (v_count + 1) div 2 - 1;
        select c_id into v_customer from customer
            where c_w_id = p_w and c_d_id = p_d and c_last = p_last
            order by c_first limit 1 offset v_count;
    end if;
    select o_id into v_number from orders
        where o_w_id = p_w and o_d_id = p_d and o_c_id = v_customer order by o_id desc limit 1;
    select v_customer, v_number, count(*),
        group_concat(concat_ws(' ', ol_i_id, ol_supply_w_id, ol_quantity, ol_amount))
        from order_line where ol_w_id = p_w and ol_d_id = p_d and ol_o_id = v_number;
end //

create or replace procedure tpcc_delivery(p_w int, p_carrier int)
begin
    declare d int default 1;
    declare v_delivered, v_lines, v_count int default 0;
    declare v_number, v_customer int;
    declare v_amount bigint;
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    while d <= 10 do
        set v_number = null;
        select no_o_id into v_number from new_order where no_w_id = p_w and no_d_id = d
            order by no_o_id limit 1 for update;
        if v_number is not null then
            delete from new_order where no_w_id = p_w and no_d_id = d and no_o_id = v_number;
            select o_c_id into v_customer from orders
                where o_w_id = p_w and o_d_id = d and o_id = v_number for update;
            update orders set o_carrier_id = p_carrier
                where o_w_id = p_w and o_d_id = d and o_id = v_number;
            select sum(ol_amount), count(*) into v_amount, v_count from order_line
                where ol_w_id = p_w and ol_d_id = d and ol_o_id = v_number;
            update order_line set ol_delivery_d = current_timestamp(6)
                where ol_w_id = p_w and ol_d_id = d and ol_o_id = v_number;
            update customer
                set c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
                where c_w_id = p_w and c_d_id = d and c_id = v_customer;
            set v_delivered = v_delivered + 1;
            set v_lines = v_lines + v_count;
        end if;
        set d = d + 1;
    end while;
    commit;
    select v_delivered, v_lines;
end //

create or replace procedure tpcc_stock_level(p_w int, p_d int, p_threshold int)
begin
    declare v_next int;
    select d_next_o_id into v_next from district where d_w_id = p_w and d_id = p_d;
    select count(distinct s_i_id) from order_line, stock
        where ol_w_id = p_w and ol_d_id = p_d and ol_o_id >= v_next - 20 and ol_o_id < v_next
        and s_w_id = p_w and s_i_id = ol_i_id and s_quantity < p_threshold;
end //

create or replace procedure tpcb_change(p_a int, p_t int, p_b int, p_delta bigint)
begin
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    update account set a_balance = a_balance + p_delta where a_id = p_a;
    update teller set t_balance = t_balance + p_delta where t_id = p_t;
    update branch set b_balance = b_balance + p_delta where b_id = p_b;
    insert into ledger (g_t_id, g_b_id, g_a_id, g_delta, g_time, g_filler)
        values (p_t, p_b, p_a, p_delta, current_timestamp(6), '');
    select a_balance from account where a_id = p_a;
    commit;
end //
