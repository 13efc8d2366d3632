//! The inputs of transactions, as a terminal keys them in.
//!
//! Source: clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1 and 5.2.4.2.

use super::chance::Chance;
use super::scale::{
    BY_NAME, CARRIERS, DISTRICTS, Kind, LINES, MOST_QUANTITY, PAID, REMOTE_LINES, REMOTE_PAYMENTS,
    ROLLBACKS, THRESHOLD, UNUSED_ITEM,
};

/// A line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The item, [`UNUSED_ITEM`] in the last line of an order that rolls back.
    pub item: u32,
    /// The warehouse that supplies it.
    pub supplier: u32,
    /// Copies.
    pub quantity: u32,
}

/// How a customer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Number(u32),
    /// By the number of a last name.
    Name(u32),
}

/// What a terminal keys in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the standard")]
pub enum Input {
    /// Clause 2.4.1.
    NewOrder {
        warehouse: u32,
        district: u32,
        customer: u32,
        lines: Vec<Line>,
    },
    /// Clause 2.5.1; the amount in hundredths.
    Payment {
        warehouse: u32,
        district: u32,
        of: (u32, u32),
        who: Who,
        amount: u32,
    },
    /// Clause 2.6.1.
    OrderStatus {
        warehouse: u32,
        district: u32,
        who: Who,
    },
    /// Clause 2.7.1.
    Delivery { warehouse: u32, carrier: u32 },
    /// Clause 2.8.1.
    StockLevel {
        warehouse: u32,
        district: u32,
        threshold: u32,
    },
}

impl Input {
    /// Which transaction it is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::NewOrder { .. } => Kind::NewOrder,
            Self::Payment { .. } => Kind::Payment,
            Self::OrderStatus { .. } => Kind::OrderStatus,
            Self::Delivery { .. } => Kind::Delivery,
            Self::StockLevel { .. } => Kind::StockLevel,
        }
    }

    /// Return whether the order is to roll back.
    pub fn rolls_back(&self) -> bool {
        let Self::NewOrder { lines, .. } = self else {
            return false;
        };
        lines.last().is_some_and(|line| line.item == UNUSED_ITEM)
    }
}

/// A terminal: a place in a warehouse, and a deck of cards that says what is next.
#[derive(Clone, Debug)]
pub struct Terminal {
    chance: Chance,
    warehouses: u32,
    warehouse: u32,
    district: u32,
    deck: Vec<Kind>,
}

impl Terminal {
    /// Return the terminal of a district of one of the warehouses.
    pub fn new(chance: Chance, warehouses: u32, warehouse: u32, district: u32) -> Self {
        Self {
            chance,
            warehouses,
            warehouse,
            district,
            deck: Vec::new(),
        }
    }

    /// Return which transaction is next: the top card of a deck that is shuffled once it is empty.
    pub fn next_kind(&mut self) -> Kind {
        loop {
            if let Some(card) = self.deck.pop() {
                return card;
            }
            let cards = Kind::ALL
                .iter()
                .flat_map(|&kind| std::iter::repeat_n(kind, kind.cards()));
            self.deck.extend(cards);
            self.chance.shuffle(&mut self.deck);
        }
    }

    /// Return the input of a transaction.
    pub fn input(&mut self, kind: Kind) -> Input {
        let warehouse = self.warehouse;
        match kind {
            Kind::NewOrder => self.new_order(),
            Kind::Payment => self.payment(),
            Kind::OrderStatus => {
                let district = self.any_district();
                Input::OrderStatus {
                    warehouse,
                    district,
                    who: self.who(),
                }
            }
            Kind::Delivery => Input::Delivery {
                warehouse,
                carrier: self.chance.number(1, CARRIERS),
            },
            Kind::StockLevel => {
                let threshold = self.chance.number(THRESHOLD.0, THRESHOLD.1);
                Input::StockLevel {
                    warehouse,
                    district: self.district,
                    threshold,
                }
            }
        }
    }

    /// Return how long (s) its user thinks about the answer of a transaction.
    pub fn thinks_s(&mut self, kind: Kind) -> f64 {
        self.chance.pause_s(kind.thinking_s())
    }

    fn new_order(&mut self) -> Input {
        let (district, customer) = (self.any_district(), self.chance.customer());
        let count = self.chance.number(LINES.0, LINES.1);
        let mut lines: Vec<Line> = (0..count)
            .map(|_| Line {
                item: self.chance.item(),
                supplier: self.perhaps_another(REMOTE_LINES),
                quantity: self.chance.number(1, MOST_QUANTITY),
            })
            .collect();
        if self.chance.happens(ROLLBACKS) {
            lines.last_mut().expect("five lines at least").item = UNUSED_ITEM;
        }
        Input::NewOrder {
            warehouse: self.warehouse,
            district,
            customer,
            lines,
        }
    }

    fn payment(&mut self) -> Input {
        let district = self.any_district();
        let home = self.perhaps_another(REMOTE_PAYMENTS);
        let of = if home == self.warehouse {
            (home, district)
        } else {
            (home, self.any_district())
        };
        let who = self.who();
        let amount = self.chance.number(PAID.0, PAID.1);
        Input::Payment {
            warehouse: self.warehouse,
            district,
            of,
            who,
            amount,
        }
    }

    fn who(&mut self) -> Who {
        if self.chance.happens(BY_NAME) {
            Who::Name(self.chance.name())
        } else {
            Who::Number(self.chance.customer())
        }
    }

    fn any_district(&mut self) -> u32 {
        self.chance.number(1, DISTRICTS)
    }

    /// Return another warehouse with a probability, if there is one, otherwise the own.
    fn perhaps_another(&mut self, share: f64) -> u32 {
        if self.warehouses == 1 || !self.chance.happens(share) {
            return self.warehouse;
        }
        let other = self.chance.number(1, self.warehouses - 1);
        if other < self.warehouse {
            other
        } else {
            other + 1
        }
    }
}
