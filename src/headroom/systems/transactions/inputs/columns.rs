//! Columns of the tables, in the packed form in which standards print them.
//!
//! Source: TPC-C, clause 1.3; TPC-B, clause 3.1.

use super::population::Type::{self, Money, Number, Rate, Text, Time};

/// Names and types of columns.
pub type Columns = &'static [(&'static str, Type)];

#[rustfmt::skip]
pub(super) const ITEM: Columns = &[
    ("i_id", Number), ("i_im_id", Number), ("i_name", Text(24)), ("i_price", Money),
    ("i_data", Text(50)),
];
#[rustfmt::skip]
pub(super) const WAREHOUSE: Columns = &[
    ("w_id", Number), ("w_name", Text(10)), ("w_street_1", Text(20)), ("w_street_2", Text(20)),
    ("w_city", Text(20)), ("w_state", Text(2)), ("w_zip", Text(9)), ("w_tax", Rate),
    ("w_ytd", Money),
];
#[rustfmt::skip]
pub(super) const DISTRICT: Columns = &[
    ("d_w_id", Number), ("d_id", Number), ("d_name", Text(10)), ("d_street_1", Text(20)),
    ("d_street_2", Text(20)), ("d_city", Text(20)), ("d_state", Text(2)), ("d_zip", Text(9)),
    ("d_tax", Rate), ("d_ytd", Money), ("d_next_o_id", Number),
];
#[rustfmt::skip]
pub(super) const STOCK: Columns = &[
    ("s_w_id", Number), ("s_i_id", Number), ("s_quantity", Number), ("s_dist_01", Text(24)),
    ("s_dist_02", Text(24)), ("s_dist_03", Text(24)), ("s_dist_04", Text(24)),
    ("s_dist_05", Text(24)), ("s_dist_06", Text(24)), ("s_dist_07", Text(24)),
    ("s_dist_08", Text(24)), ("s_dist_09", Text(24)), ("s_dist_10", Text(24)), ("s_ytd", Number),
    ("s_order_cnt", Number), ("s_remote_cnt", Number), ("s_data", Text(50)),
];
#[rustfmt::skip]
pub(super) const CUSTOMER: Columns = &[
    ("c_w_id", Number), ("c_d_id", Number), ("c_id", Number), ("c_first", Text(16)),
    ("c_middle", Text(2)), ("c_last", Text(16)), ("c_street_1", Text(20)), ("c_street_2", Text(20)),
    ("c_city", Text(20)), ("c_state", Text(2)), ("c_zip", Text(9)), ("c_phone", Text(16)),
    ("c_since", Time), ("c_credit", Text(2)), ("c_credit_lim", Money), ("c_discount", Rate),
    ("c_balance", Money), ("c_ytd_payment", Money), ("c_payment_cnt", Number),
    ("c_delivery_cnt", Number), ("c_data", Text(500)),
];
#[rustfmt::skip]
pub(super) const HISTORY: Columns = &[
    ("h_c_id", Number), ("h_c_d_id", Number), ("h_c_w_id", Number), ("h_d_id", Number),
    ("h_w_id", Number), ("h_date", Time), ("h_amount", Money), ("h_data", Text(24)),
];
#[rustfmt::skip]
pub(super) const ORDERS: Columns = &[
    ("o_w_id", Number), ("o_d_id", Number), ("o_id", Number), ("o_c_id", Number),
    ("o_entry_d", Time), ("o_carrier_id", Number), ("o_ol_cnt", Number), ("o_all_local", Number),
];
#[rustfmt::skip]
pub(super) const ORDER_LINE: Columns = &[
    ("ol_w_id", Number), ("ol_d_id", Number), ("ol_o_id", Number), ("ol_number", Number),
    ("ol_i_id", Number), ("ol_supply_w_id", Number), ("ol_delivery_d", Time),
    ("ol_quantity", Number), ("ol_amount", Money), ("ol_dist_info", Text(24)),
];
#[rustfmt::skip]
pub(super) const NEW_ORDER: Columns = &[
    ("no_w_id", Number), ("no_d_id", Number), ("no_o_id", Number),
];
#[rustfmt::skip]
pub(super) const BRANCH: Columns = &[
    ("b_id", Number), ("b_balance", Money), ("b_filler", Text(88)),
];
#[rustfmt::skip]
pub(super) const TELLER: Columns = &[
    ("t_id", Number), ("t_b_id", Number), ("t_balance", Money), ("t_filler", Text(84)),
];
#[rustfmt::skip]
pub(super) const ACCOUNT: Columns = &[
    ("a_id", Number), ("a_b_id", Number), ("a_balance", Money), ("a_filler", Text(84)),
];
#[rustfmt::skip]
pub(super) const LEDGER: Columns = &[
    ("g_t_id", Number), ("g_b_id", Number), ("g_a_id", Number), ("g_delta", Money),
    ("g_time", Time), ("g_filler", Text(22)),
];
