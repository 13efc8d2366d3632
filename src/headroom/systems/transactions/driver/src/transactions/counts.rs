//! What the transactions of a run did, to be compared with the database's own counters.

use headroom_transactions::systems::transactions::inputs::{Input, Who};

use super::{Asked, Done};

const DISTRICTS: u64 = 10;

/// Counts of one session; those of several add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Counts {
    pub new_orders: u64,
    pub rolled_back: u64,
    pub lines: u64,
    pub remote_lines: u64,
    pub lines_written: u64,
    pub payments: u64,
    pub remote_payments: u64,
    pub order_statuses: u64,
    pub by_name: u64,
    pub deliveries: u64,
    pub delivered: u64,
    pub delivered_lines: u64,
    pub skipped: u64,
    pub stock_levels: u64,
    pub changes: u64,
    pub remote_changes: u64,
    pub retries: u64,
}

impl Counts {
    /// Return names and values.
    pub const fn named(&self) -> [(&'static str, u64); 17] {
        [
            ("new_order_count", self.new_orders),
            ("rolled_back_count", self.rolled_back),
            ("line_count", self.lines),
            ("remote_line_count", self.remote_lines),
            ("lines_written_count", self.lines_written),
            ("payment_count", self.payments),
            ("remote_payment_count", self.remote_payments),
            ("order_status_count", self.order_statuses),
            ("by_name_count", self.by_name),
            ("delivery_count", self.deliveries),
            ("delivered_count", self.delivered),
            ("delivered_line_count", self.delivered_lines),
            ("skipped_count", self.skipped),
            ("stock_level_count", self.stock_levels),
            ("change_count", self.changes),
            ("remote_change_count", self.remote_changes),
            ("retry_count", self.retries),
        ]
    }

    /// Add those of another.
    pub const fn add(&mut self, other: &Self) {
        self.new_orders += other.new_orders;
        self.rolled_back += other.rolled_back;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.lines_written += other.lines_written;
        self.payments += other.payments;
        self.remote_payments += other.remote_payments;
        self.order_statuses += other.order_statuses;
        self.by_name += other.by_name;
        self.deliveries += other.deliveries;
        self.delivered += other.delivered;
        self.delivered_lines += other.delivered_lines;
        self.skipped += other.skipped;
        self.stock_levels += other.stock_levels;
        self.changes += other.changes;
        self.remote_changes += other.remote_changes;
        self.retries += other.retries;
    }

    /// Count a transaction that was carried out.
    pub fn note(&mut self, asked: &Asked, done: &Done) {
        match asked {
            Asked::TpcC(input) => self.note_input(input, done),
            Asked::TpcB(change) => {
                self.changes += 1;
                self.remote_changes += u64::from(change.is_remote());
            }
        }
    }

    fn note_input(&mut self, input: &Input, done: &Done) {
        match input {
            Input::NewOrder {
                warehouse, lines, ..
            } => {
                let remote = lines
                    .iter()
                    .filter(|line| line.supplier != *warehouse)
                    .count();
                self.lines += lines.len() as u64;
                self.remote_lines += remote as u64;
                // The last line of an order that rolls back is not written.
                self.lines_written += lines.len() as u64 - u64::from(input.rolls_back());
                self.new_orders += 1;
                self.rolled_back += u64::from(*done == Done::Order(0));
            }
            Input::Payment {
                warehouse, of, who, ..
            } => {
                self.payments += 1;
                self.remote_payments += u64::from(of.0 != *warehouse);
                self.by_name += u64::from(matches!(who, Who::Name(_)));
            }
            Input::OrderStatus { who, .. } => {
                self.order_statuses += 1;
                self.by_name += u64::from(matches!(who, Who::Name(_)));
            }
            Input::Delivery { .. } => {
                self.deliveries += 1;
                if let Done::Delivered(orders, lines) = done {
                    self.delivered += orders.unsigned_abs();
                    self.delivered_lines += lines.unsigned_abs();
                    self.skipped += DISTRICTS - orders.unsigned_abs();
                }
            }
            Input::StockLevel { .. } => self.stock_levels += 1,
        }
    }
}
