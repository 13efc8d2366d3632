//! A path as a message sequence chart: a column for the home and for each cache, time downwards.
//!
//! A message is drawn where it arrives; the states below it are those that its receiver then has.

use std::fmt::Write as _;

use super::world::{Event, Rules, WorldOf};
use super::{Limits, Violation};
use crate::systems::shared_memory::protocol::{Agent, Node, Protocol};

/// Characters of a column.
const WIDTH: usize = 24;
/// Characters left of the first column.
const MARGIN: usize = 6;

/// Draw the path of a violation; the last line is the sentence that does not hold.
pub fn draw<P: Protocol>(protocol: &P, limits: &Limits, violation: &Violation<P::Body>) -> String {
    let rules = Rules::new(protocol, limits);
    let mut world = rules.first();
    let mut used = vec![0; P::RULES.len()];
    let mut chart = head(limits.caches);
    for line in 0..limits.lines {
        chart.push_str(&states(&rules, &world, line, |_| true));
    }
    for (number, event) in (1..).zip(&violation.path) {
        let (line, touched) = touched(event);
        chart.push_str(&row(number, limits, event));
        let Ok(next) = rules.after(&world, event, &mut used) else {
            break;
        };
        world = next;
        chart.push_str(&states(&rules, &world, line, |agent| touched == agent));
    }
    chart.push_str(&violation.sentence);
    chart.push('\n');
    chart
}

fn head(caches: usize) -> String {
    let mut text = " ".repeat(MARGIN);
    let _ = write!(text, "{:^WIDTH$}", "home");
    for node in 0..caches {
        let _ = write!(text, "{:^WIDTH$}", format!("cache {node}"));
    }
    trimmed(&text)
}

/// Return the line and the receiver of an event.
fn touched<B>(event: &Event<B>) -> (usize, Agent) {
    match event {
        Event::Start { line, node, .. } => (*line, Agent::Cache(*node)),
        Event::Local { line, .. } => (*line, Agent::Home),
        Event::Deliver { line, message } => (*line, message.to),
        Event::Refuse { line, victim, .. } => (victim.unwrap_or(*line), Agent::Home),
    }
}

fn row<B: std::fmt::Debug>(number: usize, limits: &Limits, event: &Event<B>) -> String {
    let of_line = |line: usize| {
        if limits.lines > 1 {
            format!(" of line {line}")
        } else {
            String::new()
        }
    };
    let (label, from, to) = match event {
        Event::Start { line, node, op } => {
            let agent = Agent::Cache(*node);
            (format!("{op:?}{}", of_line(*line)), agent, agent)
        }
        Event::Local { line, op } => (
            format!("{op:?}{}", of_line(*line)),
            Agent::Home,
            Agent::Home,
        ),
        Event::Deliver { line, message } => (
            format!("{:?}{}", message.body, of_line(*line)),
            message.from,
            message.to,
        ),
        Event::Refuse { line, message, .. } => (
            format!("{:?}{}: no entry", message.body, of_line(*line)),
            message.from,
            message.to,
        ),
    };
    let (start, end) = (column(from), column(to));
    let mut cells: Vec<char> = vec![' '; MARGIN + WIDTH * (limits.caches + 1)];
    place(&mut cells, 0, &number.to_string());
    if start == end {
        let left = (start + 1).saturating_sub(label.chars().count() / 2);
        place(&mut cells, left.max(MARGIN), &label);
        return trimmed(&cells.into_iter().collect::<String>());
    }
    for cell in &mut cells[start.min(end)..=start.max(end)] {
        *cell = '─';
    }
    cells[start] = '│';
    cells[end] = if end > start { '▶' } else { '◀' };
    let room = start.abs_diff(end) - 3;
    let shown: String = label.chars().take(room).collect();
    let left = start.min(end) + 2 + (room - shown.chars().count()) / 2;
    place(&mut cells, left, &shown);
    let mut line: String = cells.into_iter().collect();
    if shown.len() < label.len() {
        line = format!("{}  {label}", line.trim_end());
    }
    trimmed(&line)
}

fn states<P: Protocol>(
    rules: &Rules<'_, P>,
    world: &WorldOf<P>,
    line: usize,
    shows: impl Fn(Agent) -> bool,
) -> String {
    let mut text = " ".repeat(MARGIN);
    let caches = rules.limits.caches;
    let mut add = |agent: Agent, name: String| {
        let cell = if shows(agent) { name } else { String::new() };
        let _ = write!(text, "{cell:^WIDTH$}");
    };
    add(Agent::Home, rules.protocol.home_name(&world.homes[line]));
    for node in 0..caches {
        let name = rules.protocol.name(&world.lines[line * caches + node]);
        #[allow(clippy::cast_possible_truncation, reason = "a few caches")]
        add(Agent::Cache(node as Node), name);
    }
    trimmed(&text)
}

/// Return the middle of an agent's column.
fn column(agent: Agent) -> usize {
    let index = match agent {
        Agent::Home => 0,
        Agent::Cache(node) => usize::from(node) + 1,
    };
    MARGIN + index * WIDTH + WIDTH / 2
}

fn place(cells: &mut [char], left: usize, text: &str) {
    for (cell, new) in cells.iter_mut().skip(left).zip(text.chars()) {
        *cell = new;
    }
}

fn trimmed(line: &str) -> String {
    format!("{}\n", line.trim_end())
}
