//! All statements of the transactions, in the SQL of each product.
//!
//! `?` is a parameter; `{lock}`, `{now}` and `{text}` differ between products. A product that
//! returns rows of an update (`returning`) needs one statement where others need two.

use std::fmt::Write as _;

use crate::target::Product;

/// A statement, which a connection prepares when it first needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the texts below say more")]
pub enum Statement {
    Begin,
    BeginToRead,
    Commit,
    Rollback,
    OrderNumber,
    AdvanceOrderNumber,
    CustomerOfOrder,
    Item,
    Stock(u8),
    SellStock,
    InsertOrder,
    InsertNewOrder,
    InsertLine,
    PayWarehouse,
    AddToWarehouse,
    PayDistrict,
    AddToDistrict,
    CustomerByNumber,
    CustomersByName,
    PayCustomer,
    InsertHistory,
    LastOrder,
    LinesOfOrder,
    OldestNewOrder,
    AnyNewOrder,
    DeleteNewOrder,
    CustomerOfDelivery,
    DeliverOrder,
    AmountOfLines,
    DeliverLines,
    CreditCustomer,
    NextOrderOfDistrict,
    LowStock,
    ChangeAccount,
    AccountBalance,
    ChangeTeller,
    ChangeBranch,
    InsertChange,
    CallNewOrder,
    CallPayment,
    CallOrderStatus,
    CallDelivery,
    CallStockLevel,
    CallChange,
}

impl Statement {
    /// Return its text.
    pub fn text(self, product: Product) -> String {
        let text = match self {
            Self::Stock(district) => format!(
                "select s_quantity, s_data, s_dist_{district:02} from stock \
                 where s_w_id = ? and s_i_id = ?"
            ),
            _ => self.of(product).to_owned(),
        };
        let (lock, now, kind) = match product {
            Product::Postgres => ("for update", "current_timestamp", "text"),
            Product::Mariadb => ("for update", "current_timestamp(6)", "char"),
            Product::Sqlite => ("", "cast(unixepoch('subsec') * 1000000 as integer)", "text"),
        };
        let text = text
            .replace("{lock}", lock)
            .replace("{now}", now)
            .replace("{text}", kind);
        if product == Product::Postgres {
            numbered(&text)
        } else {
            text
        }
    }

    const fn of(self, product: Product) -> &'static str {
        let returns = !matches!(product, Product::Mariadb);
        match self {
            Self::Begin => match product {
                Product::Sqlite => "begin immediate",
                _ => "begin",
            },
            Self::BeginToRead => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::OrderNumber if returns => {
                "update district set d_next_o_id = d_next_o_id + 1 \
                 where d_w_id = ? and d_id = ? returning d_next_o_id - 1, d_tax"
            }
            Self::OrderNumber => {
                "select d_next_o_id, d_tax from district where d_w_id = ? and d_id = ? {lock}"
            }
            Self::AdvanceOrderNumber => {
                "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ? and d_id = ?"
            }
            Self::CustomerOfOrder => {
                "select c_discount, c_last, c_credit, w_tax from customer, warehouse \
                 where w_id = ? and c_w_id = w_id and c_d_id = ? and c_id = ?"
            }
            Self::Item => "select i_price, i_name, i_data from item where i_id = ?",
            Self::Stock(_) => "",
            Self::SellStock => {
                "update stock set s_quantity = case when s_quantity - ? >= 10 \
                 then s_quantity - ? else s_quantity - ? + 91 end, s_ytd = s_ytd + ?, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
                 where s_w_id = ? and s_i_id = ?"
            }
            Self::InsertOrder => {
                "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
                 o_ol_cnt, o_all_local) values (?, ?, ?, ?, {now}, null, ?, ?)"
            }
            Self::InsertNewOrder => {
                "insert into new_order (no_w_id, no_d_id, no_o_id) values (?, ?, ?)"
            }
            Self::InsertLine => {
                "insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
                 ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
                 values (?, ?, ?, ?, ?, ?, null, ?, ?, ?)"
            }
            _ => self.of_others(product),
        }
    }

    const fn of_others(self, product: Product) -> &'static str {
        let returns = !matches!(product, Product::Mariadb);
        match self {
            Self::PayWarehouse if returns => {
                "update warehouse set w_ytd = w_ytd + ? where w_id = ? \
                 returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
            }
            Self::PayDistrict if returns => {
                "update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ? \
                 returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip"
            }
            Self::PayWarehouse => {
                "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip from warehouse \
                 where w_id = ? {lock}"
            }
            Self::AddToWarehouse => "update warehouse set w_ytd = w_ytd + ? where w_id = ?",
            Self::PayDistrict => {
                "select d_name, d_street_1, d_street_2, d_city, d_state, d_zip from district \
                 where d_w_id = ? and d_id = ? {lock}"
            }
            Self::AddToDistrict => {
                "update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ?"
            }
            Self::CustomerByNumber => {
                "select c_id, c_balance, c_credit, c_discount, c_first, c_middle, c_last \
                 from customer where c_w_id = ? and c_d_id = ? and c_id = ?"
            }
            Self::CustomersByName => {
                "select c_id, c_balance, c_credit, c_discount, c_first, c_middle, c_last \
                 from customer where c_w_id = ? and c_d_id = ? and c_last = ? order by c_first"
            }
            Self::PayCustomer => {
                "update customer set c_balance = c_balance - ?, \
                 c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, \
                 c_data = case when c_credit = 'BC' \
                 then substr(concat(cast(? as {text}), c_data), 1, 500) else c_data end \
                 where c_w_id = ? and c_d_id = ? and c_id = ?"
            }
            Self::InsertHistory => {
                "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
                 h_amount, h_data) values (?, ?, ?, ?, ?, {now}, ?, ?)"
            }
            Self::LastOrder => {
                "select o_id, o_carrier_id, o_ol_cnt from orders \
                 where o_w_id = ? and o_d_id = ? and o_c_id = ? order by o_id desc limit 1"
            }
            Self::LinesOfOrder => {
                "select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount from order_line \
                 where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?"
            }
            Self::OldestNewOrder => {
                "select no_o_id from new_order where no_w_id = ? and no_d_id = ? \
                 order by no_o_id limit 1 {lock}"
            }
            Self::AnyNewOrder => {
                "select no_o_id from new_order where no_w_id = ? and no_d_id = ? \
                 order by no_o_id limit 1"
            }
            Self::DeleteNewOrder => {
                "delete from new_order where no_w_id = ? and no_d_id = ? and no_o_id = ?"
            }
            Self::CustomerOfDelivery => {
                "select o_c_id from orders where o_w_id = ? and o_d_id = ? and o_id = ?"
            }
            Self::DeliverOrder => {
                "update orders set o_carrier_id = ? where o_w_id = ? and o_d_id = ? and o_id = ?"
            }
            Self::AmountOfLines => {
                "select cast(sum(ol_amount) as {text}), count(*) from order_line \
                 where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?"
            }
            Self::DeliverLines => {
                "update order_line set ol_delivery_d = {now} \
                 where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?"
            }
            Self::CreditCustomer => {
                "update customer set c_balance = c_balance + ?, \
                 c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = ? and c_d_id = ? and c_id = ?"
            }
            _ => self.of_the_rest(product),
        }
    }

    const fn of_the_rest(self, product: Product) -> &'static str {
        let is_mariadb = matches!(product, Product::Mariadb);
        match self {
            Self::NextOrderOfDistrict => {
                "select d_next_o_id from district where d_w_id = ? and d_id = ?"
            }
            Self::LowStock => {
                "select count(distinct s_i_id) from order_line, stock \
                 where ol_w_id = ? and ol_d_id = ? and ol_o_id >= ? and ol_o_id < ? \
                 and s_w_id = ? and s_i_id = ol_i_id and s_quantity < ?"
            }
            Self::ChangeAccount if is_mariadb => {
                "update account set a_balance = a_balance + ? where a_id = ?"
            }
            Self::ChangeAccount => {
                "update account set a_balance = a_balance + ? where a_id = ? returning a_balance"
            }
            Self::AccountBalance => "select a_balance from account where a_id = ?",
            Self::ChangeTeller => "update teller set t_balance = t_balance + ? where t_id = ?",
            Self::ChangeBranch => "update branch set b_balance = b_balance + ? where b_id = ?",
            Self::InsertChange => {
                "insert into ledger (g_t_id, g_b_id, g_a_id, g_delta, g_time, g_filler) \
                 values (?, ?, ?, ?, {now}, '')"
            }
            Self::CallNewOrder if is_mariadb => "call tpcc_new_order(?, ?, ?, ?, ?, ?)",
            Self::CallPayment if is_mariadb => "call tpcc_payment(?, ?, ?, ?, ?, ?, ?)",
            Self::CallOrderStatus if is_mariadb => "call tpcc_order_status(?, ?, ?, ?)",
            Self::CallDelivery if is_mariadb => "call tpcc_delivery(?, ?)",
            Self::CallStockLevel if is_mariadb => "call tpcc_stock_level(?, ?, ?)",
            Self::CallChange if is_mariadb => "call tpcb_change(?, ?, ?, ?)",
            Self::CallNewOrder => "select * from tpcc_new_order(?, ?, ?, ?, ?, ?)",
            Self::CallPayment => "select * from tpcc_payment(?, ?, ?, ?, ?, ?, ?)",
            Self::CallOrderStatus => "select * from tpcc_order_status(?, ?, ?, ?)",
            Self::CallDelivery => "select * from tpcc_delivery(?, ?)",
            Self::CallStockLevel => "select tpcc_stock_level(?, ?, ?)",
            Self::CallChange => "select tpcb_change(?, ?, ?, ?)",
            _ => "",
        }
    }
}

/// Return a text with `$1`, `$2` and so on for each `?`.
fn numbered(text: &str) -> String {
    let mut pieces = text.split('?');
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for (index, piece) in pieces.enumerate() {
        let _ = write!(numbered, "${}{piece}", index + 1);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_for_postgresql() {
        assert_eq!(numbered("a = ? and b = ?"), "a = $1 and b = $2");
    }
}
