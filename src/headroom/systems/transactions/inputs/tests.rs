//! Counts of many inputs and of a loaded district against those of the standard.

use std::collections::{BTreeMap, BTreeSet};

use headroom_simulation::simulation::kernel::random::stream::open;

use super::*;

const DECKS: usize = 20_000;

fn constants() -> Constants {
    Constants {
        names_loaded: 157,
        names: 223,
        customers: 259,
        items: 7_911,
    }
}

fn terminal(warehouses: u32) -> Terminal {
    Terminal::new(Chance::new(1, 2, constants()), warehouses, 3, 4)
}

fn inputs(kind: Kind, count: usize) -> Vec<Input> {
    let mut terminal = terminal(10);
    (0..count).map(|_| terminal.input(kind)).collect()
}

/// Assert that a share is what it should be, within four standard errors.
#[track_caller]
fn assert_share(happened: usize, of: usize, expected: f64) {
    let (share, count) = (happened as f64 / of as f64, of as f64);
    let error = (expected * (1.0 - expected) / count).sqrt();
    assert!(
        (share - expected).abs() <= 4.0 * error,
        "{share} of {of}, expected {expected}"
    );
}

#[test]
fn a_deck_has_23_cards_in_random_order() {
    let mut terminal = terminal(10);
    let mut firsts = BTreeSet::new();
    for _ in 0..200 {
        let deck: Vec<Kind> = (0..23).map(|_| terminal.next_kind()).collect();
        for kind in Kind::ALL {
            assert_eq!(
                deck.iter().filter(|&&card| card == kind).count(),
                kind.cards()
            );
        }
        firsts.insert(deck[0]);
    }
    assert_eq!(firsts.len(), 5);
}

#[test]
fn orders_have_the_lines_and_the_remote_ones_of_the_standard() {
    let orders = inputs(Kind::NewOrder, DECKS);
    let (mut lines_of, mut remote, mut lines) = (BTreeMap::new(), 0, 0);
    let (mut orders_with_remote, mut rolled_back) = (0, 0);
    for order in &orders {
        rolled_back += usize::from(order.rolls_back());
        let Input::NewOrder {
            warehouse,
            lines: some,
            ..
        } = order
        else {
            unreachable!()
        };
        let away = some
            .iter()
            .filter(|line| line.supplier != *warehouse)
            .count();
        *lines_of.entry(some.len()).or_insert(0) += 1;
        lines += some.len();
        remote += away;
        orders_with_remote += usize::from(away > 0);
        assert!(some.iter().all(|line| (1..=10).contains(&line.supplier)));
    }
    assert_eq!(
        lines_of.keys().copied().collect::<Vec<usize>>(),
        (5..=15).collect::<Vec<_>>()
    );
    assert!(lines_of.values().all(|&count| count > DECKS / 11 * 9 / 10));
    assert_share(remote, lines, REMOTE_LINES);
    assert_share(orders_with_remote, orders.len(), 0.0953);
    assert_share(rolled_back, orders.len(), ROLLBACKS);
}

#[test]
fn payments_are_remote_and_by_name_as_often_as_the_standard_says() {
    let payments = inputs(Kind::Payment, DECKS);
    let (mut remote, mut by_name) = (0, 0);
    for payment in &payments {
        let Input::Payment {
            warehouse,
            district,
            of,
            who,
            amount,
        } = payment
        else {
            unreachable!()
        };
        remote += usize::from(of.0 != *warehouse);
        by_name += usize::from(matches!(who, Who::Name(_)));
        assert!(of.0 != *warehouse || of.1 == *district);
        assert!((100..=500_000).contains(amount));
    }
    assert_share(remote, payments.len(), REMOTE_PAYMENTS);
    assert_share(by_name, payments.len(), BY_NAME);
}

#[test]
fn one_warehouse_has_nothing_remote() {
    let mut terminal = Terminal::new(Chance::new(1, 2, constants()), 1, 1, 4);
    for _ in 0..1_000 {
        let Input::Payment { of, .. } = terminal.input(Kind::Payment) else {
            unreachable!()
        };
        assert_eq!(of.0, 1);
    }
}

#[test]
fn items_are_as_skewed_as_was_computed() {
    let mut chance = Chance::new(5, 6, constants());
    let draws = 4_000_000;
    let mut counted_once = || {
        let mut counts = vec![0_usize; ITEMS as usize];
        (0..draws).for_each(|_| counts[chance.item() as usize - 1] += 1);
        counts
    };
    // Ranks by the same draws would find more in the first ones than there is.
    let (ranked_by, counted) = (counted_once(), counted_once());
    let mut ranks: Vec<usize> = (0..ITEMS as usize).collect();
    ranks.sort_unstable_by_key(|&item| std::cmp::Reverse(ranked_by[item]));
    let share = |rows: usize| {
        ranks[..rows]
            .iter()
            .map(|&item| counted[item])
            .sum::<usize>() as f64
            / f64::from(draws)
    };
    assert!((share(20_000) - 0.844).abs() < 0.01, "{}", share(20_000));
    assert!((share(5_000) - 0.590).abs() < 0.01, "{}", share(5_000));
}

#[test]
fn a_name_finds_3_4_customers_with_constants_that_are_legal_together() {
    let mut chance = Chance::new(7, 8, constants());
    let mut named = vec![0_usize; NAMES as usize];
    (0..NAMED_IN_ORDER).for_each(|name| named[name as usize] += 1);
    (NAMED_IN_ORDER..CUSTOMERS).for_each(|_| named[chance.loaded_name() as usize] += 1);
    let draws = 100_000;
    let found: usize = (0..draws).map(|_| named[chance.name() as usize]).sum();
    assert!((found as f64 / f64::from(draws) - 3.4).abs() < 0.2);
}

#[test]
fn drawn_constants_are_legal_together() {
    let mut stream = open(1, 1);
    assert!((0..1_000).all(|_| Constants::draw(&mut stream).are_legal()));
    assert!(
        !Constants {
            names: 157 + 96,
            ..constants()
        }
        .are_legal()
    );
    assert!(
        !Constants {
            names: 157,
            ..constants()
        }
        .are_legal()
    );
}

#[test]
fn a_thinking_time_is_exponential_and_cut() {
    let mut terminal = terminal(10);
    let times_s: Vec<f64> = (0..DECKS)
        .map(|_| terminal.thinks_s(Kind::Payment))
        .collect();
    let mean_s = times_s.iter().sum::<f64>() / DECKS as f64;
    assert!((mean_s - 12.0).abs() < 0.4, "{mean_s}");
    assert!(times_s.iter().all(|&time_s| time_s <= 120.0));
}

fn population() -> Population {
    Population {
        seed: 1,
        constants: constants(),
        loaded_us: 1_700_000_000_000_000,
    }
}

fn rows(part: Part) -> BTreeMap<Table, Vec<Vec<Value>>> {
    let mut found: BTreeMap<Table, Vec<Vec<Value>>> = BTreeMap::new();
    population().fill(part, &mut |table, row| {
        assert_eq!(row.len(), table.columns().len(), "{table:?}");
        for (value, (name, kind)) in row.iter().zip(table.columns()) {
            match (value, kind) {
                (Value::Text(text), Type::Text(most)) => {
                    assert!(text.len() <= usize::from(*most), "{name} {text}");
                }
                (Value::Number(_) | Value::Null, Type::Text(_)) | (Value::Text(_), _) => {
                    panic!("{name} has {value:?}")
                }
                _ => (),
            }
        }
        found.entry(table).or_default().push(row.to_vec());
    });
    found
}

fn number(value: &Value) -> i64 {
    let Value::Number(number) = value else {
        panic!("{value:?} is not a number")
    };
    *number
}

#[test]
fn a_district_has_its_customers_each_with_a_history() {
    let found = rows(Part::Customers(2, 3));
    let customers = &found[&Table::Customer];
    assert_eq!(customers.len(), CUSTOMERS as usize);
    assert_eq!(found[&Table::History].len(), CUSTOMERS as usize);
    let names: BTreeSet<&Value> = customers[..1_000].iter().map(|row| &row[5]).collect();
    assert_eq!(names.len(), 1_000);
    let bad = customers
        .iter()
        .filter(|row| row[13] == Value::Text("BC".to_owned()))
        .count();
    assert_share(bad, customers.len(), BAD_CREDIT);
    // Condition 10 and 12 of the standard: the balance is less what was paid.
    assert!(
        customers
            .iter()
            .all(|row| number(&row[16]) == -1_000 && number(&row[17]) == 1_000)
    );
}

#[test]
fn a_district_has_its_orders_lines_and_new_orders() {
    let found = rows(Part::Orders(2, 3));
    let (orders, lines) = (&found[&Table::Orders], &found[&Table::OrderLine]);
    assert_eq!(orders.len(), ORDERS as usize);
    assert_eq!(found[&Table::NewOrder].len(), 900);
    let customers: BTreeSet<i64> = orders.iter().map(|row| number(&row[3])).collect();
    assert_eq!(customers.len(), ORDERS as usize, "a permutation");
    let counted: i64 = orders.iter().map(|row| number(&row[6])).sum();
    assert_eq!(counted, i64::try_from(lines.len()).expect("few lines"));
    for row in lines {
        let is_new = number(&row[2]) >= i64::from(FIRST_NEW_ORDER);
        assert_eq!(row[6] == Value::Null, is_new);
        assert_eq!(number(&row[8]) == 0, !is_new);
    }
}

#[test]
fn stock_and_items_hold_the_word_as_often_as_the_standard_says() {
    let found = rows(Part::Warehouse(1));
    assert_eq!(found[&Table::District].len(), 10);
    for row in [&found[&Table::Stock], &rows(Part::Items)[&Table::Item]] {
        assert_eq!(row.len(), ITEMS as usize);
        let original = |row: &&Vec<Value>| matches!(row.last(), Some(Value::Text(text)) if text.contains("ORIGINAL"));
        assert_share(row.iter().filter(original).count(), row.len(), ORIGINAL);
    }
}

#[test]
fn a_part_is_the_same_each_time_and_differs_from_others() {
    assert_eq!(rows(Part::Orders(1, 1)), rows(Part::Orders(1, 1)));
    assert_ne!(
        rows(Part::Orders(1, 1))[&Table::Orders][0][3..],
        rows(Part::Orders(1, 2))[&Table::Orders][0][3..]
    );
    let parts = Workload::TpcC.parts(3);
    assert_eq!(parts.len(), 1 + 3 * 21);
    let keys: BTreeSet<u64> = parts.iter().map(|part| part.key()).collect();
    assert_eq!(keys.len(), parts.len());
}

#[test]
fn accounts_of_tpc_b_are_local_in_85_of_100_and_of_a_branch_that_exists() {
    let mut chance = Chance::new(1, 9, constants());
    let changes: Vec<tpcb::Change> = (0..DECKS).map(|_| tpcb::change(&mut chance, 7)).collect();
    let remote = changes.iter().filter(|change| change.is_remote()).count();
    assert_share(remote, changes.len(), 1.0 - tpcb::LOCAL_ACCOUNTS);
    for change in &changes {
        assert!((1..=7 * tpcb::ACCOUNTS).contains(&change.account));
        assert_eq!((change.teller - 1) / tpcb::TELLERS + 1, change.branch);
    }
    assert!((0..1_000).all(|_| !tpcb::change(&mut chance, 1).is_remote()));
}

#[test]
fn a_branch_has_its_tellers_and_accounts() {
    let found = rows(Part::Branch(2));
    assert_eq!(found[&Table::Branch].len(), 1);
    assert_eq!(found[&Table::Teller].len(), 10);
    assert_eq!(number(&found[&Table::Account][0][0]), 100_001);
    assert_eq!(found[&Table::Account].len(), 100_000);
}
