//! The environment of the programs: sources and sinks of each class, clocks, breakdowns.

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::arrivals::{Carried, Process};
use crate::simulation::kernel::plan::choice::{ChoicePlan, Rule};
use crate::simulation::kernel::plan::compile::{Compiler, position, refuse};
use crate::simulation::kernel::plan::instruction::{Act, Change, Instruction, NO_AMOUNT, Wait};
use crate::simulation::kernel::plan::model::{
    Breakdown, BreakdownUnit, Class, Controller, Draw, Expression, Mix, Model, Placed, Schedule,
    Start, Step,
};
use crate::simulation::kernel::plan::program::{
    BreakdownPlan, ClassPlan, Order, ProcessPlan, Site,
};
use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::distribution::Distribution;
use crate::simulation::kernel::time::{BEYOND, TICKS_PER_UNIT, whole_ticks};

/// Maximum cards of a deck.
const LARGEST_DECK: u64 = 100_000;

/// Add the frames of all classes, stations and breakdowns of `model`.
///
/// # Errors
///
/// Fails if the model contradicts itself.
pub fn add(compiler: &mut Compiler, model: &Model) -> Result<(), SimulationError> {
    compiler.here = Site::default();
    compiler.emit(Act::Exit);
    compiler.plan.last_return = compiler.emit(Act::ArmEnd);
    for (index, class) in model.classes.iter().enumerate() {
        let plan = add_class(compiler, position(index), class)?;
        compiler.plan.classes.push(plan);
    }
    for mix in &model.mixes {
        add_mix(compiler, mix)?;
    }
    for station in 0..position(model.stations.len()) {
        if compiler.plan.stations[station as usize].order == Order::Sharing {
            let at = compiler.emit(Wait::Clock { station });
            compiler.plan.clocks.push((station, at));
        }
    }
    for breakdown in &model.breakdowns {
        let plan = add_breakdown(compiler, breakdown)?;
        compiler.plan.breakdowns.push(plan);
    }
    for schedule in &model.schedules {
        add_schedule(compiler, schedule)?;
    }
    for controller in &model.controllers {
        add_controller(compiler, model, controller)?;
    }
    Ok(())
}

/// Add the clock of a schedule.
fn add_schedule(compiler: &mut Compiler, schedule: &Schedule) -> Result<(), SimulationError> {
    let Schedule {
        of,
        times,
        values,
        period,
    } = schedule;
    let ticks: Vec<u64> = times.iter().map(|&time| ticks_of(time)).collect();
    let last = ticks.last().copied();
    let round = period.map(ticks_of);
    let ascends = ticks.is_sorted() && round.is_none_or(|round| last.is_some_and(|at| at < round));
    if times.len() != values.len() || last.is_none() || !ascends {
        return refuse(format!(
            "the times of a schedule of {of:?} do not ascend to its period"
        ));
    }
    let entry = compiler.next_position();
    let mut before = 0;
    for (&at, &value) in ticks.iter().zip(values) {
        wait(compiler, at - before)?;
        before = at;
        let amount = compiler.constant(value);
        compiler.change(of, amount)?;
    }
    match round {
        Some(round) => {
            wait(compiler, round - before)?;
            compiler.emit(Instruction::Jump { to: entry });
        }
        None => {
            compiler.emit(Act::Exit);
        }
    }
    compiler.plan.controllers.push(entry);
    Ok(())
}

/// Add the clock of a controller.
fn add_controller(
    compiler: &mut Compiler,
    model: &Model,
    controller: &Controller,
) -> Result<(), SimulationError> {
    let mut waiting = vec![controller.program.as_str()];
    let mut seen = Vec::new();
    while let Some(name) = waiting.pop() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let program = compiler.program_named(name)?;
        for step in &model.programs[program as usize].steps {
            match step {
                Step::Call { program } => waiting.push(program),
                other if is_of_controllers(other) => {}
                _ => {
                    return refuse(format!(
                        "controller '{}' takes a step of jobs in program '{name}'",
                        controller.name
                    ));
                }
            }
        }
    }
    let entry = pause(compiler, &controller.every, controller.stream)?;
    let program = compiler.entry_of(&controller.program)?;
    compiler.emit(Instruction::Call { entry: program });
    compiler.emit(Instruction::Jump { to: entry });
    compiler.plan.controllers.push(entry);
    Ok(())
}

/// Return whether a controller may take `step`: it uses nothing and no job awaits it.
const fn is_of_controllers(step: &Step) -> bool {
    matches!(
        step,
        Step::Delay { .. }
            | Step::Set { .. }
            | Step::Change { .. }
            | Step::Loop { .. }
            | Step::Branch { .. }
            | Step::Case { .. }
            | Step::End
    )
}

fn ticks_of(time: f64) -> u64 {
    whole_ticks(time * TICKS_PER_UNIT)
}

/// Let a clock wait for `ticks`.
fn wait(compiler: &mut Compiler, ticks: u64) -> Result<(), SimulationError> {
    if ticks > 0 {
        let value = ticks as f64 / TICKS_PER_UNIT;
        pause(compiler, &Distribution::Constant { value }, 0)?;
    }
    Ok(())
}

fn add_class(
    compiler: &mut Compiler,
    index: u32,
    class: &Class,
) -> Result<ClassPlan, SimulationError> {
    match class {
        Class::Closed { .. } => add_closed(compiler, index, class),
        Class::Open { .. } => add_open(compiler, index, class),
    }
}

fn add_closed(
    compiler: &mut Compiler,
    index: u32,
    class: &Class,
) -> Result<ClassPlan, SimulationError> {
    let Class::Closed {
        name,
        program,
        population,
        think,
        stream,
        priority,
        start,
        placed,
    } = class
    else {
        unreachable!("the class is closed");
    };
    if *population == 0 {
        return refuse(format!("class '{name}' has no jobs"));
    }
    let entry = compiler.next_position();
    if let Some(think) = think {
        let source = compiler.source(think, *stream)?;
        compiler.emit(Instruction::Think { source });
    }
    let begin = walk(compiler, index, program)?;
    compiler.emit(Instruction::Jump { to: entry });
    let placed = places(compiler, program, placed)?;
    let placed_count: u64 = placed.iter().map(|one| u64::from(one.1)).sum();
    if placed_count > u64::from(*population) {
        return refuse(format!(
            "class '{name}' has {population} jobs, of which {placed_count} are placed at stations"
        ));
    }
    Ok(ClassPlan {
        name: name.clone(),
        entry: if *start == Start::Ready { begin } else { entry },
        home: entry,
        begin,
        population: Some(f64::from(*population)),
        starting: population - placed.iter().map(|one| one.1).sum::<u32>(),
        initial: 0,
        placed,
        priority: *priority,
        late_after: BEYOND,
    })
}

fn add_open(
    compiler: &mut Compiler,
    index: u32,
    class: &Class,
) -> Result<ClassPlan, SimulationError> {
    let Class::Open {
        name,
        program,
        interarrival,
        arrivals,
        stream,
        priority,
        batch,
        batch_stream,
        initial,
    } = class
    else {
        unreachable!("the class is open");
    };
    let entry = compiler.next_position();
    match (interarrival, arrivals) {
        (Some(law), None) => {
            let source = compiler.source(law, *stream)?;
            compiler.emit(Instruction::Think { source });
        }
        (
            None,
            Some(Process::Computed {
                sets,
                goes_on,
                wait,
            }),
        ) => {
            carry(compiler, sets)?;
            let goes_on = match goes_on {
                Some(condition) => compiler.computed(condition)?,
                None => NO_AMOUNT,
            };
            let wait = compiler.computed(wait)?;
            compiler.emit(Wait::Await { goes_on, wait });
        }
        (None, Some(process)) => {
            let arrivals = process.compile_as(TICKS_PER_UNIT, compiler.sampling)?;
            let names = arrivals.attribute_names().iter();
            let attributes = names.map(|name| compiler.attribute(name));
            let attributes = attributes.collect::<Result<Vec<_>, _>>()?;
            compiler.plan.processes.push(ProcessPlan {
                arrivals,
                attributes,
                key: *stream,
            });
            let process = position(compiler.plan.processes.len() - 1);
            compiler.emit(Wait::Arrive { process });
        }
        _ => {
            return refuse(format!(
                "class '{name}' must have either an interarrival time or arrivals"
            ));
        }
    }
    let amount = match batch {
        Some(law) => compiler.count_source(law, *batch_stream)?,
        None => NO_AMOUNT,
    };
    compiler.emit(Act::Spawn {
        class: index,
        amount,
    });
    compiler.emit(Instruction::Jump { to: entry });
    let begin = walk(compiler, index, program)?;
    compiler.emit(Act::Exit);
    Ok(ClassPlan {
        name: name.clone(),
        entry,
        home: entry,
        begin,
        population: None,
        starting: 1,
        initial: *initial,
        placed: Vec::new(),
        priority: *priority,
        late_after: BEYOND,
    })
}

/// Add the classes of a mix, whose jobs start with the first of them.
fn add_mix(compiler: &mut Compiler, mix: &Mix) -> Result<(), SimulationError> {
    let total: u64 = mix.classes.iter().map(|one| u64::from(one.weight)).sum();
    if mix.population == 0 || total == 0 || mix.classes.iter().any(|one| one.weight == 0) {
        return refuse(format!(
            "mix '{}' has no jobs, no classes, or a class that is never drawn",
            mix.name
        ));
    }
    if mix.draw == Draw::Deck && total > LARGEST_DECK {
        return refuse(format!(
            "the deck of mix '{}' has {total} cards, more than {LARGEST_DECK}",
            mix.name
        ));
    }
    let home = compiler.next_position();
    if let Some(think) = &mix.think {
        let source = compiler.source(think, mix.stream)?;
        compiler.emit(Instruction::Think { source });
    }
    let draw = compiler.next_position();
    carry(compiler, &mix.sets)?;
    let choice = position(compiler.plan.choices.len());
    compiler.emit(Act::Choose { choice });
    let entry = if mix.start == Start::Ready {
        draw
    } else {
        home
    };
    let first = position(compiler.plan.classes.len());
    let mut targets = Vec::with_capacity(mix.classes.len());
    for (place, class) in mix.classes.iter().enumerate() {
        let index = first + position(place);
        targets.push(compiler.emit(Act::Become { class: index }));
        let begin = walk(compiler, index, &class.program)?;
        compiler.emit(Instruction::Jump { to: home });
        compiler.plan.classes.push(ClassPlan {
            name: class.name.clone(),
            entry,
            home,
            begin,
            population: Some(f64::from(mix.population) * f64::from(class.weight) / total as f64),
            starting: if place == 0 { mix.population } else { 0 },
            initial: 0,
            placed: Vec::new(),
            priority: class.priority,
            late_after: BEYOND,
        });
    }
    let rule = rule_of(compiler, mix)?;
    compiler.plan.choices.push(ChoicePlan {
        targets,
        rule,
        key: mix.draw_stream,
    });
    Ok(())
}

/// Let a job compute attributes one after the other.
fn carry(compiler: &mut Compiler, sets: &[Carried]) -> Result<(), SimulationError> {
    for one in sets {
        let attribute = compiler.attribute(&one.attribute)?;
        let amount = compiler.computed(&one.value)?;
        compiler.emit(Act::Set { attribute, amount });
    }
    Ok(())
}

/// Return how the class of the next walk is drawn.
fn rule_of(compiler: &mut Compiler, mix: &Mix) -> Result<Rule, SimulationError> {
    let weights = mix.classes.iter().map(|one| one.weight);
    match (mix.draw, &mix.index) {
        (Draw::Independent, None) => {
            let total: f64 = weights.clone().map(f64::from).sum();
            let shares: Vec<f64> = weights.map(|one| f64::from(one) / total).collect();
            Ok(Rule::Probability(AliasTable::new(&shares)))
        }
        (Draw::Deck, None) => Ok(Rule::Deck(
            (0_u32..)
                .zip(weights)
                .flat_map(|(place, count)| std::iter::repeat_n(place, count as usize))
                .collect(),
        )),
        (Draw::Computed, Some(Expression::Expression { code })) => {
            Ok(Rule::Index(compiler.code(code)?))
        }
        (Draw::Computed, None) | (_, Some(_)) => refuse(format!(
            "mix '{}' must give the index of the class if its draw is computed, and only then",
            mix.name
        )),
    }
}

/// Emit the walk of a class through its program; return its start.
fn walk(compiler: &mut Compiler, class: u32, program: &str) -> Result<u32, SimulationError> {
    let entry = compiler.entry_of(program)?;
    let begin = compiler.emit(Act::Begin { class });
    compiler.emit(Instruction::Call { entry });
    compiler.emit(Act::Complete { class });
    Ok(begin)
}

/// Return the positions in `program` of the jobs at time zero, and how many there are.
fn places(
    compiler: &Compiler,
    program: &str,
    placed: &[Placed],
) -> Result<Vec<(u32, u32)>, SimulationError> {
    let index = compiler.program_named(program)?;
    let mut found_at = Vec::new();
    for one in placed {
        let station = compiler.station(&one.station)?;
        let found = compiler.plan.instructions.iter().zip(&compiler.plan.sites);
        let at = found.into_iter().position(|(instruction, site)| {
            let is_use = instruction.used_station() == Some(station);
            let is_bare = site.slots == 0 && site.held.is_empty() && !site.is_in_arm;
            is_use && is_bare && site.program == Some(index)
        });
        let Some(at) = at else {
            return refuse(format!(
                "program '{program}' does not use station '{}' outside of loops, arms, attempts \
                 and holds, so no job can start there",
                one.station
            ));
        };
        // A station that serves by position gets it from the step before.
        let is_positioned = at > 0 && compiler.plan.positioned_at(position(at - 1)).is_some();
        found_at.push((position(at - usize::from(is_positioned)), one.jobs));
    }
    Ok(found_at)
}

fn add_breakdown(
    compiler: &mut Compiler,
    breakdown: &Breakdown,
) -> Result<BreakdownPlan, SimulationError> {
    let station = compiler.station(&breakdown.station)?;
    let plan = &compiler.plan.stations[station as usize];
    if plan.servers == u32::MAX || plan.batch.is_some() {
        return refuse(format!(
            "the servers of station '{}' cannot break: their number is unlimited, or they \
             serve in batches",
            plan.name
        ));
    }
    let (servers, count) = match breakdown.unit {
        BreakdownUnit::All => (plan.servers, 1),
        BreakdownUnit::Each => (1, plan.servers),
    };
    let entry = pause(compiler, &breakdown.time_to_failure, breakdown.stream)?;
    compiler.emit(Change::Break { station, servers });
    pause(
        compiler,
        &breakdown.repair,
        breakdown.stream.rotate_left(32),
    )?;
    compiler.emit(Change::Repair { station, servers });
    compiler.emit(Instruction::Jump { to: entry });
    Ok(BreakdownPlan { entry, count })
}

fn pause(compiler: &mut Compiler, law: &Distribution, key: u64) -> Result<u32, SimulationError> {
    let source = compiler.source(law, key)?;
    Ok(compiler.emit(Instruction::Think { source }))
}
