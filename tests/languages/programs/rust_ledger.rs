// SPDX-License-Identifier: GPL-3.0-or-later
// Accounts in a map, transfers that may fail, a trait object; one interest is wrong.
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug)]
enum Refusal {
    Unknown(String),
    Short { missing: i64 },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Unknown(name) => write!(out, "no account {}", name),
            Refusal::Short { missing } => write!(out, "{} short", missing),
        }
    }
}

trait Interest {
    fn of(&self, cents: i64) -> i64;
}

struct Flat(i64);
struct Percent(i64);

impl Interest for Flat {
    fn of(&self, _cents: i64) -> i64 {
        self.0
    }
}

impl Interest for Percent {
    fn of(&self, cents: i64) -> i64 {
        cents * (self.0 + 1) / 100 // FAULT: cents * self.0 / 100
    }
}

#[derive(Default)]
struct Ledger {
    accounts: BTreeMap<String, i64>,
    refused: Vec<Refusal>,
}

impl Ledger {
    fn deposit(&mut self, name: &str, cents: i64) {
        *self.accounts.entry(name.to_string()).or_insert(0) += cents;
    }

    fn withdraw(&mut self, name: &str, cents: i64) -> Result<i64, Refusal> {
        let balance = self
            .accounts
            .get_mut(name)
            .ok_or_else(|| Refusal::Unknown(name.to_string()))?;
        if *balance < cents {
            return Err(Refusal::Short { missing: cents - *balance });
        }
        *balance -= cents;
        Ok(*balance)
    }

    fn transfer(&mut self, from: &str, to: &str, cents: i64) {
        match self.withdraw(from, cents) {
            Ok(_) => self.deposit(to, cents),
            Err(refusal) => self.refused.push(refusal),
        }
    }

    fn pay_interest(&mut self, interest: &dyn Interest) {
        for balance in self.accounts.values_mut() {
            *balance += interest.of(*balance);
        }
    }
}

fn checksum(ledger: &Ledger) -> u32 {
    ledger
        .accounts
        .keys()
        .flat_map(|name| name.bytes())
        .fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte as u32)) // UNRELATED
}

fn main() {
    let mut ledger = Ledger::default();
    let interests: Vec<Box<dyn Interest>> = vec![Box::new(Flat(5)), Box::new(Percent(10))];

    ledger.deposit("anna", 1000);
    ledger.deposit("bert", 200);
    ledger.transfer("anna", "bert", 300);
    ledger.transfer("bert", "carl", 5000);
    ledger.transfer("dora", "anna", 1);
    for interest in &interests {
        ledger.pay_interest(interest.as_ref());
    }
    for (name, cents) in &ledger.accounts {
        println!("{:6} {}", name, cents);
    }
    for refusal in &ledger.refused {
        println!("refused: {}", refusal);
    }
    println!("checksum {}", checksum(&ledger));
}
