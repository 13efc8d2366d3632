//! Compiles model data to flat tables.
//!
//! Blocks are compiled with an explicit stack, so nesting may be of any depth. The builder checks
//! balance, probabilities and names with source lines; they are checked here again, briefly,
//! because the engine relies on them.

use std::collections::BTreeMap;

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::blocks::Block;
use crate::simulation::kernel::plan::calls::CallPlan;
use crate::simulation::kernel::plan::choice::Target;
use crate::simulation::kernel::plan::expression::{self, Code, Op, Term};
use crate::simulation::kernel::plan::frames;
use crate::simulation::kernel::plan::instruction::{Act, COMPUTED, Change, Instruction, Wait};
use crate::simulation::kernel::plan::mechanism::{Function, Mechanism};
use crate::simulation::kernel::plan::model::{
    Amount, Changeable, Class, Expression, FORMAT, Model, QueueOf, Step, Stop,
};
use crate::simulation::kernel::plan::program::{
    Limits, Plan, PoolPlan, Site, SourcePlan, StationPlan,
};
use crate::simulation::kernel::plan::rows::Rows;
use crate::simulation::kernel::plan::stack_depth;
use crate::simulation::kernel::plan::station_plans;
use crate::simulation::kernel::random::distribution::{Distribution, Sampler, Sampling};
use crate::simulation::kernel::time::{BEYOND, SimTime, TICKS_PER_UNIT, whole_ticks};

/// Placeholder for a position that is not known yet.
pub(in crate::simulation::kernel) const UNKNOWN: u32 = u32::MAX;

/// Compile `model`; `stop` overrides its own limits if it sets any, `sampling` determines how
/// random numbers become variates, and `mechanisms` are those of the model, in its order.
///
/// # Errors
///
/// Fails if the model contradicts itself.
pub fn compile(
    model: &Model,
    stop: Stop,
    sampling: Sampling,
    mechanisms: &[Box<dyn Mechanism>],
) -> Result<Plan, SimulationError> {
    if model.format != FORMAT {
        return refuse(format!(
            "format {} is not {FORMAT}, the one this kernel reads",
            model.format
        ));
    }
    if model.classes.is_empty() && model.mixes.is_empty() {
        return refuse("no class brings jobs into it".to_owned());
    }
    let mut compiler = Compiler::new(model, sampling)?;
    compiler.functions = mechanisms.iter().map(|one| one.functions()).collect();
    compiler.add_positions(model)?;
    for (index, program) in model.programs.iter().enumerate() {
        compiler.program(position(index), &program.steps)?;
    }
    frames::add(&mut compiler, model)?;
    compiler.add_late(model)?;
    compiler.finish(limits(model.stop, stop)?)
}

/// Merge the limits of the model with those of the caller.
fn limits(own: Stop, wish: Stop) -> Result<Limits, SimulationError> {
    let is_overridden = wish.completions.is_some() || wish.time.is_some();
    let stop = if is_overridden { wish } else { own };
    if stop.completions.is_none() && stop.time.is_none() {
        return refuse("it never stops: neither completions nor a time are given".to_owned());
    }
    if stop.completions == Some(0) {
        return refuse("a run must have at least 1 completion".to_owned());
    }
    let time = match stop.time {
        None => SimTime::MAX,
        Some(time) if time > 0.0 => match SimTime::from_ticks(whole_ticks(time * TICKS_PER_UNIT)) {
            SimTime::MAX => return refuse(format!("the stop time {time} is beyond the clock")),
            latest => latest,
        },
        Some(time) => return refuse(format!("the stop time {time} is not above zero")),
    };
    Ok(Limits {
        completions: stop.completions.unwrap_or(u64::MAX),
        time,
    })
}

/// The tables under construction, and the place in the program being compiled.
pub(in crate::simulation::kernel) struct Compiler {
    pub(in crate::simulation::kernel) sampling: Sampling,
    pub(in crate::simulation::kernel) plan: Plan,
    entries: Vec<u32>,
    replies: Vec<bool>,
    calls: Vec<(u32, u32)>,
    starts: Vec<(u32, u32)>,
    attribute_index: BTreeMap<String, u32>,
    station_index: BTreeMap<String, u32>,
    pool_index: BTreeMap<String, u32>,
    program_index: BTreeMap<String, u32>,
    /// Amounts of the positions at each station that serves by them.
    positions: Vec<Option<u32>>,
    mechanism_index: BTreeMap<String, u32>,
    functions: Vec<&'static [Function]>,
    pub(in crate::simulation::kernel) blocks: Vec<Block>,
    pub(in crate::simulation::kernel) here: Site,
}

impl Compiler {
    fn new(model: &Model, sampling: Sampling) -> Result<Self, SimulationError> {
        let stations = station_plans::compile(model)?;
        let programs: Vec<String> = model.programs.iter().map(|p| p.name.clone()).collect();
        let mixed = model.mixes.iter().flat_map(|mix| &mix.classes);
        let classes = model.classes.iter().map(Class::name);
        unique(classes.chain(mixed.map(|one| one.name.as_str())))?;
        let has_reply = |steps: &[Step]| steps.iter().any(|step| matches!(step, Step::Reply));
        Ok(Self {
            sampling,
            entries: vec![UNKNOWN; programs.len()],
            replies: model.programs.iter().map(|p| has_reply(&p.steps)).collect(),
            calls: Vec::new(),
            starts: Vec::new(),
            attribute_index: unique(model.attributes.iter().map(|a| a.name.as_str()))?,
            station_index: unique(stations.iter().map(|s| s.name.as_str()))?,
            pool_index: unique(model.pools.iter().map(|p| p.name.as_str()))?,
            program_index: unique(programs.iter().map(String::as_str))?,
            mechanism_index: unique(model.mechanisms.iter().map(|m| m.name.as_str()))?,
            functions: Vec::new(),
            positions: Vec::new(),
            blocks: Vec::new(),
            here: Site::default(),
            plan: Plan {
                instructions: Vec::new(),
                sites: Vec::new(),
                programs,
                sources: Vec::new(),
                expressions: Vec::new(),
                calls: Vec::new(),
                choices: Vec::new(),
                forks: Vec::new(),
                attempts: Vec::new(),
                processes: Vec::new(),
                attributes: model.attributes.iter().map(|a| a.initial).collect(),
                stations,
                station_rows: Rows::collect(
                    model
                        .stations
                        .iter()
                        .map(|s| (s.name.as_str(), s.group.as_deref())),
                )?,
                clocks: Vec::new(),
                breakdowns: Vec::new(),
                controllers: Vec::new(),
                has_losses: false,
                has_extras: false,
                has_outcomes: false,
                pools: pools(model)?,
                pool_rows: Rows::collect(
                    model
                        .pools
                        .iter()
                        .map(|p| (p.name.as_str(), p.group.as_deref())),
                )?,
                classes: Vec::new(),
                last_return: UNKNOWN,
                stack_slots: 0,
                unit: model.time_unit,
                limits: Limits {
                    completions: u64::MAX,
                    time: SimTime::MAX,
                },
            },
        })
    }

    /// Compile the positions of jobs; if there are any, each job carries one more attribute.
    ///
    /// A station has one expression for all uses, so that draws in it are one stream.
    fn add_positions(&mut self, model: &Model) -> Result<(), SimulationError> {
        for station in &model.stations {
            let amount = match &station.position {
                Some(Expression::Expression { code }) => Some(self.expression(code)?),
                None => None,
            };
            self.positions.push(amount);
        }
        if self.positions.iter().any(Option::is_some) {
            self.plan.attributes.push(0.0);
        }
        Ok(())
    }

    /// Note from which response time on the jobs of classes are late.
    fn add_late(&mut self, model: &Model) -> Result<(), SimulationError> {
        for (name, &time) in &model.late_after {
            let mut classes = self.plan.classes.iter_mut();
            match classes.find(|class| class.name == *name) {
                Some(class) if time >= 0.0 => {
                    class.late_after = whole_ticks(time * TICKS_PER_UNIT);
                }
                _ => return refuse(format!("class '{name}' cannot be late after {time}")),
            }
        }
        Ok(())
    }

    /// Append an instruction; return its position.
    pub(in crate::simulation::kernel) fn emit(
        &mut self,
        instruction: impl Into<Instruction>,
    ) -> u32 {
        let at = self.next_position();
        self.plan.instructions.push(instruction.into());
        self.plan.sites.push(self.here.clone());
        at
    }

    pub(in crate::simulation::kernel) fn next_position(&self) -> u32 {
        position(self.plan.instructions.len())
    }

    /// Add a source of times.
    pub(in crate::simulation::kernel) fn source(
        &mut self,
        law: &Distribution,
        key: u64,
    ) -> Result<u32, SimulationError> {
        Ok(self.add_source(law.compile_as(TICKS_PER_UNIT, self.sampling)?, key))
    }

    /// Add a source of counts.
    pub(in crate::simulation::kernel) fn count_source(
        &mut self,
        law: &Distribution,
        key: u64,
    ) -> Result<u32, SimulationError> {
        Ok(self.add_source(law.compile_as(1.0, self.sampling)?, key))
    }

    fn add_source(&mut self, sampler: Sampler, key: u64) -> u32 {
        self.plan.sources.push(SourcePlan { sampler, key });
        position(self.plan.sources.len() - 1)
    }

    /// Add an amount that gives a duration.
    pub(in crate::simulation::kernel) fn amount(
        &mut self,
        amount: &Amount,
        key: u64,
    ) -> Result<u32, SimulationError> {
        match amount {
            Amount::Drawn(law) => self.source(law, key),
            Amount::Computed(Expression::Expression { code }) => self.expression(code),
        }
    }

    /// Add an amount that gives a count.
    fn count(&mut self, amount: &Amount, key: u64) -> Result<u32, SimulationError> {
        match amount {
            Amount::Drawn(law) => self.count_source(law, key),
            Amount::Computed(Expression::Expression { code }) => self.expression(code),
        }
    }

    /// Add an amount that gives a number of any kind: always an expression.
    fn value(&mut self, amount: &Amount, key: u64) -> Result<u32, SimulationError> {
        match amount {
            Amount::Drawn(law) => {
                let drawn = self.drawn(law, key)?;
                Ok(self.add_expression(Box::new([drawn])))
            }
            Amount::Computed(Expression::Expression { code }) => self.expression(code),
        }
    }

    /// Return a draw for an expression; a constant that ticks cannot count is a number.
    fn drawn(&mut self, law: &Distribution, key: u64) -> Result<Op, SimulationError> {
        match law {
            Distribution::Constant { value } if whole_ticks(value * TICKS_PER_UNIT) == BEYOND => {
                Ok(Op::Number(*value))
            }
            law => Ok(Op::Draw(self.source(law, key)?)),
        }
    }

    /// Add an expression.
    pub(in crate::simulation::kernel) fn computed(
        &mut self,
        expression: &Expression,
    ) -> Result<u32, SimulationError> {
        let Expression::Expression { code } = expression;
        self.expression(code)
    }

    fn expression(&mut self, terms: &[Term]) -> Result<u32, SimulationError> {
        let code = self.code(terms)?;
        Ok(self.add_expression(code))
    }

    fn add_expression(&mut self, code: Code) -> u32 {
        self.plan.expressions.push(code);
        position(self.plan.expressions.len() - 1) | COMPUTED
    }

    /// Compile an expression.
    pub(in crate::simulation::kernel) fn code(
        &mut self,
        terms: &[Term],
    ) -> Result<Code, SimulationError> {
        let mut code = Vec::with_capacity(terms.len());
        for term in terms {
            code.push(match term {
                Term::Number(value) => Op::Number(*value),
                Term::Attribute(name) => Op::Attribute(self.attribute(name)?),
                Term::Draw { law, stream } => self.drawn(law, *stream)?,
                Term::Jobs(name) => Op::Jobs(self.station(name)?),
                Term::Free(name) => Op::Free(self.pool(name)?),
                Term::Servers(name) => Op::Servers(self.station(name)?),
                Term::Tokens(name) => Op::Tokens(self.pool(name)?),
                Term::BusyTime(name) => Op::BusyTime(self.station(name)?),
                Term::Now => Op::Now,
                Term::Call {
                    mechanism,
                    function,
                    arguments,
                } => self.function(mechanism, function, *arguments)?,
                Term::Apply(operator) => Op::Apply(*operator),
            });
        }
        match expression::flaw(&code) {
            Some(flaw) => self.refuse_here(flaw),
            None => Ok(code.into()),
        }
    }

    /// Compile a call of a function of a mechanism.
    fn function(
        &mut self,
        mechanism: &str,
        name: &str,
        arguments: u32,
    ) -> Result<Op, SimulationError> {
        let owner = look_up(&self.mechanism_index, "mechanism", mechanism)?;
        let functions = self.functions[owner as usize];
        let Some(index) = functions.iter().position(|one| one.name == name) else {
            return self.refuse_here(&format!("mechanism '{mechanism}' has no function '{name}'"));
        };
        let function = functions[index];
        if function.arguments.len() != arguments as usize {
            return self.refuse_here(&format!(
                "{name}({}) of mechanism '{mechanism}' gets {arguments} arguments",
                function.arguments.join(", ")
            ));
        }
        self.plan.calls.push(CallPlan {
            mechanism: owner,
            name: mechanism.to_owned(),
            index,
            function,
        });
        Ok(Op::Call {
            call: position(self.plan.calls.len() - 1),
            arguments,
        })
    }

    /// Return the index of the attribute `name`.
    pub(in crate::simulation::kernel) fn attribute(
        &self,
        name: &str,
    ) -> Result<u32, SimulationError> {
        look_up(&self.attribute_index, "attribute", name)
    }

    /// Return the index of the station `name`.
    pub(in crate::simulation::kernel) fn station(
        &self,
        name: &str,
    ) -> Result<u32, SimulationError> {
        look_up(&self.station_index, "station", name)
    }

    fn pool(&self, name: &str) -> Result<u32, SimulationError> {
        look_up(&self.pool_index, "pool", name)
    }

    /// Return the index of the program `name`.
    pub(in crate::simulation::kernel) fn program_named(
        &self,
        name: &str,
    ) -> Result<u32, SimulationError> {
        look_up(&self.program_index, "program", name)
    }

    /// Return the start of the program `name`, which is already compiled.
    pub(in crate::simulation::kernel) fn entry_of(
        &self,
        name: &str,
    ) -> Result<u32, SimulationError> {
        Ok(self.entries[self.program_named(name)? as usize])
    }

    /// Return the queue that counts.
    pub(in crate::simulation::kernel) fn target(
        &self,
        of: Option<&QueueOf>,
    ) -> Result<Target, SimulationError> {
        match of {
            Some(QueueOf::Station(name)) => Ok(Target::Station(self.station(name)?)),
            Some(QueueOf::Pool(name)) => Ok(Target::Pool(self.pool(name)?)),
            None => self.refuse_here("a case by queue names neither station nor pool"),
        }
    }

    fn program(&mut self, index: u32, steps: &[Step]) -> Result<(), SimulationError> {
        self.entries[index as usize] = self.next_position();
        self.here = Site {
            program: Some(index),
            ..Site::default()
        };
        for (index, step) in (0..).zip(steps) {
            self.here.step = index;
            self.step(step)?;
        }
        if !self.blocks.is_empty() {
            return self.refuse_here("a block is not closed");
        }
        if !self.here.held.is_empty() {
            return self.refuse_here("it ends while it still holds tokens");
        }
        self.emit(Instruction::Return);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), SimulationError> {
        match step {
            Step::Use {
                station,
                service,
                stream,
                reserve,
                patience,
                patience_stream,
            } => {
                self.use_station(station, service, *stream, *reserve)?;
                if patience.is_some() {
                    let station = self.station(station)?;
                    self.plan.stations[station as usize].is_left = true;
                }
                self.patience(patience.as_ref(), *patience_stream)
            }
            Step::Delay { time, stream } => {
                let amount = self.amount(time, *stream)?;
                self.emit(Wait::Delay { amount });
                Ok(())
            }
            Step::Acquire {
                pool,
                tokens,
                patience,
                patience_stream,
            } => {
                // While it waits the job does not hold the tokens yet.
                self.acquire(pool, *tokens)?;
                self.patience(patience.as_ref(), *patience_stream)
            }
            Step::Release { pool, tokens } => self.release(pool, *tokens),
            Step::Set {
                attribute,
                value,
                stream,
            } => {
                let attribute = self.attribute(attribute)?;
                let amount = self.value(value, *stream)?;
                self.emit(Act::Set { attribute, amount });
                Ok(())
            }
            Step::Prioritize { value, stream } => {
                let amount = self.value(value, *stream)?;
                self.emit(Act::Prioritize { amount });
                Ok(())
            }
            Step::Change { of, value, stream } => {
                let amount = self.value(value, *stream)?;
                self.change(of, amount)
            }
            Step::Call { program } => self.call(program),
            Step::Reply => {
                self.emit(Act::Reply);
                Ok(())
            }
            Step::Start { program } => {
                let target = self.program_named(program)?;
                let at = self.emit(Act::Start { entry: UNKNOWN });
                self.starts.push((at, target));
                Ok(())
            }
            Step::Loop { count, stream } => {
                let amount = self.count(count, *stream)?;
                self.open_loop(amount);
                Ok(())
            }
            block => self.block(block),
        }
    }

    fn use_station(
        &mut self,
        station: &str,
        service: &Amount,
        key: u64,
        is_reserving: bool,
    ) -> Result<(), SimulationError> {
        let station = self.station(station)?;
        if let Some(amount) = self.positions[station as usize] {
            let attribute = position(self.plan.attributes.len() - 1);
            self.emit(Act::Set { attribute, amount });
        }
        let amount = self.amount(service, key)?;
        self.emit(if is_reserving {
            Wait::UseReserving {
                station,
                amount,
                next: UNKNOWN,
            }
        } else {
            Wait::Use { station, amount }
        });
        Ok(())
    }

    /// Add how long a job waits at most at the instruction before.
    fn patience(&mut self, patience: Option<&Amount>, key: u64) -> Result<(), SimulationError> {
        if let Some(patience) = patience {
            let amount = self.amount(patience, key)?;
            self.emit(Act::Patience { amount });
            self.plan.has_extras = true;
        }
        Ok(())
    }

    /// Add a change of a capacity or a speed to the value of the expression `amount`.
    pub(in crate::simulation::kernel) fn change(
        &mut self,
        of: &Changeable,
        amount: u32,
    ) -> Result<(), SimulationError> {
        let instruction = match of {
            Changeable::Servers(name) => {
                let station = self.changed_station(name)?;
                let plan = &self.plan.stations[station as usize];
                let differ = plan
                    .speeds
                    .windows(2)
                    .any(|two| two[0].to_bits() != two[1].to_bits());
                if plan.servers == u32::MAX || plan.can_break || differ {
                    return self.refuse_here(&format!(
                        "the number of servers of station '{name}' cannot change: it is unlimited, \
                         or servers break, or they differ in speed"
                    ));
                }
                Change::Servers { station, amount }
            }
            Changeable::Speed(name) => Change::Speed {
                station: self.changed_station(name)?,
                amount,
            },
            Changeable::Tokens(name) => {
                let pool = self.pool(name)?;
                self.plan.pools[pool as usize].can_change = true;
                Change::Tokens { pool, amount }
            }
        };
        self.plan.has_extras = true;
        self.emit(instruction);
        Ok(())
    }

    fn changed_station(&mut self, name: &str) -> Result<u32, SimulationError> {
        let station = self.station(name)?;
        self.plan.stations[station as usize].can_change = true;
        Ok(station)
    }

    /// Add an expression that is always `value`.
    pub(in crate::simulation::kernel) fn constant(&mut self, value: f64) -> u32 {
        self.add_expression(Box::new([Op::Number(value)]))
    }

    /// A program with a reply works for its caller as a job of its own.
    fn call(&mut self, program: &str) -> Result<(), SimulationError> {
        let target = self.program_named(program)?;
        let at = if self.replies[target as usize] {
            let at = self.emit(Act::CallAndWait { entry: UNKNOWN });
            self.here.slots += 1;
            self.emit(Act::Join);
            self.here.slots -= 1;
            at
        } else {
            self.emit(Instruction::Call { entry: UNKNOWN })
        };
        self.calls.push((at, target));
        Ok(())
    }

    fn acquire(&mut self, pool: &str, tokens: u32) -> Result<(), SimulationError> {
        let pool = self.pool(pool)?;
        let capacity = self.plan.pools[pool as usize].tokens;
        if tokens == 0 || tokens > capacity {
            return self.refuse_here(&format!("it acquires {tokens} tokens of {capacity}"));
        }
        self.emit(Wait::Acquire { pool, tokens });
        match self.here.held.binary_search_by_key(&pool, |held| held.0) {
            Ok(found) => self.here.held[found].1 += tokens,
            Err(place) => self.here.held.insert(place, (pool, tokens)),
        }
        Ok(())
    }

    fn release(&mut self, pool: &str, tokens: u32) -> Result<(), SimulationError> {
        let pool = self.pool(pool)?;
        let found = self.here.held.binary_search_by_key(&pool, |held| held.0);
        let Some(place) = found
            .ok()
            .filter(|&at| self.here.held[at].1 >= tokens && tokens > 0)
        else {
            return self.refuse_here("it releases tokens that it does not hold");
        };
        self.emit(Act::Release { pool, tokens });
        self.here.held[place].1 -= tokens;
        self.here.held.retain(|held| held.1 > 0);
        Ok(())
    }

    fn finish(mut self, limits: Limits) -> Result<Plan, SimulationError> {
        for &(at, program) in self.calls.iter().chain(&self.starts) {
            let target = self.entries[program as usize];
            match &mut self.plan.instructions[at as usize] {
                Instruction::Call { entry }
                | Instruction::Act(Act::CallAndWait { entry } | Act::Start { entry }) => {
                    *entry = target;
                }
                other => unreachable!("{other:?} calls nothing"),
            }
        }
        self.resolve_reservations()?;
        let program_count = self.entries.len();
        let Some(slots) = stack_depth::of_programs(&self.plan.sites, &self.calls, program_count)
        else {
            return refuse("a program calls itself, directly or through others".to_owned());
        };
        let are_special = self.plan.stations.iter().any(StationPlan::is_special);
        self.plan.has_losses =
            are_special || self.plan.has_extras || !self.plan.attempts.is_empty();
        self.plan.has_outcomes = self.plan.has_extras
            || !self.plan.attempts.is_empty()
            || self.plan.stations.iter().any(|one| one.is_rejecting)
            || self.plan.classes.iter().any(|one| one.late_after < BEYOND);
        self.plan.stack_slots = slots as usize + 1;
        self.plan.limits = limits;
        Ok(self.plan)
    }

    /// Find the station that follows each use that needs a place there first.
    fn resolve_reservations(&mut self) -> Result<(), SimulationError> {
        for at in 0..self.plan.instructions.len() {
            let Instruction::Wait(Wait::UseReserving {
                station, amount, ..
            }) = self.plan.instructions[at]
            else {
                continue;
            };
            let next = self.station_after(at + 1).filter(|&next| {
                let plan = &self.plan.stations[next as usize];
                plan.places != u32::MAX && !plan.is_rejecting
            });
            let Some(next) = next else {
                let name = &self.plan.stations[station as usize].name;
                return refuse(format!(
                    "a use of station '{name}' reserves a place, but no use of a station with a \
                     buffer follows directly"
                ));
            };
            self.plan.stations[station as usize].is_reserving = true;
            self.plan.instructions[at] = Wait::UseReserving {
                station,
                amount,
                next,
            }
            .into();
        }
        Ok(())
    }

    fn station_after(&self, mut at: usize) -> Option<u32> {
        for _ in 0..self.plan.instructions.len() {
            match self.plan.instructions[at] {
                Instruction::Jump { to } => at = to as usize,
                Instruction::Act(
                    Act::Release { .. }
                    | Act::Patience { .. }
                    | Act::Set { .. }
                    | Act::Prioritize { .. }
                    | Act::AttemptEnd,
                ) => at += 1,
                other => return other.used_station(),
            }
        }
        None
    }

    pub(in crate::simulation::kernel) fn refuse_here<T>(
        &self,
        reason: &str,
    ) -> Result<T, SimulationError> {
        let program = self
            .here
            .program
            .map_or("", |index| &self.plan.programs[index as usize]);
        refuse(format!("program '{program}': {reason}"))
    }
}

fn pools(model: &Model) -> Result<Vec<PoolPlan>, SimulationError> {
    let plans = model.pools.iter().map(|pool| match pool.tokens {
        0 => refuse(format!("pool '{}' has no tokens", pool.name)),
        tokens => Ok(PoolPlan {
            name: pool.name.clone(),
            tokens,
            is_by_priority: pool.order
                == crate::simulation::kernel::plan::model::PoolOrder::Priority,
            can_change: false,
        }),
    });
    plans.collect()
}

/// Index names, refusing duplicates.
fn unique<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, u32>, SimulationError> {
    let mut index = BTreeMap::new();
    for (place, name) in names.enumerate() {
        if index.insert(name.to_owned(), position(place)).is_some() {
            return refuse(format!("the name '{name}' is defined twice"));
        }
    }
    Ok(index)
}

fn look_up(index: &BTreeMap<String, u32>, kind: &str, name: &str) -> Result<u32, SimulationError> {
    index
        .get(name)
        .copied()
        .ok_or_else(|| SimulationError::Invalid(format!("no {kind} is named '{name}'")))
}

pub(in crate::simulation::kernel) fn refuse<T>(reason: String) -> Result<T, SimulationError> {
    Err(SimulationError::Invalid(reason))
}

/// Return `length` as an index of the tables.
pub(in crate::simulation::kernel) fn position(length: usize) -> u32 {
    u32::try_from(length).expect("a model has fewer than 2^32 steps")
}
