//! TPC-B: what its one transaction is given.
//!
//! Source: TPC Benchmark B, revision 2.0, clauses 1.2 and 5.3.5.

use super::chance::Chance;

/// Tellers of a branch.
pub const TELLERS: u32 = 10;
/// Accounts of a branch.
pub const ACCOUNTS: u32 = 100_000;
/// Share of the accounts that belong to the branch of the teller.
pub const LOCAL_ACCOUNTS: f64 = 0.85;
/// Largest change of an account.
const MOST_DELTA: u32 = 999_999;

/// One transaction of TPC-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The account, of all branches.
    pub account: u32,
    /// The teller, of all branches.
    pub teller: u32,
    /// The branch of the teller.
    pub branch: u32,
    /// What is added to all three.
    pub delta: i32,
}

impl Change {
    /// Return whether the account belongs to another branch than the teller.
    pub const fn is_remote(self) -> bool {
        (self.account - 1) / ACCOUNTS != self.branch - 1
    }
}

/// Draw a transaction on so many branches.
pub fn change(chance: &mut Chance, branches: u32) -> Change {
    let teller = chance.number(1, branches * TELLERS);
    let branch = (teller - 1) / TELLERS + 1;
    let is_local = branches == 1 || chance.happens(LOCAL_ACCOUNTS);
    let home = if is_local {
        branch
    } else {
        let other = chance.number(1, branches - 1);
        if other < branch { other } else { other + 1 }
    };
    let account = (home - 1) * ACCOUNTS + chance.number(1, ACCOUNTS);
    let size = chance.number(0, MOST_DELTA).cast_signed();
    let delta = if chance.happens(0.5) { size } else { -size };
    Change {
        account,
        teller,
        branch,
        delta,
    }
}
