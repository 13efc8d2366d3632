//! Model data to flat tables.
//!
//! Blocks are compiled with an explicit stack, so nesting may be of any depth. What the builder
//! checks with source lines (balance, probabilities, names) is checked here again, briefly,
//! because the engine relies on it.

use std::collections::BTreeMap;

use super::blocks::Block;
use super::distribution::{Distribution, Sampler};
use super::error::SimulationError;
use super::model::{Class, FORMAT, Model, Step, Stop};
use super::program::{ClassPlan, Instruction, Limits, Plan, Resource, Site, SourcePlan};
use super::stack_depth;
use super::time::{SimTime, TICKS_PER_UNIT, whole_ticks};

/// Stands where a position is not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Compile `model`; `stop` overrides its own limits where it sets any.
///
/// # Errors
///
/// Fails where the model contradicts itself.
pub fn compile(model: &Model, stop: Stop) -> Result<Plan, SimulationError> {
    if model.format != FORMAT {
        return refuse(format!(
            "format {} is not {FORMAT}, the one this kernel reads",
            model.format
        ));
    }
    if model.classes.is_empty() {
        return refuse("no class brings jobs into it".to_owned());
    }
    let mut compiler = Compiler::new(model)?;
    for (index, program) in model.programs.iter().enumerate() {
        compiler.program(position(index), &program.steps)?;
    }
    let classes: Vec<ClassPlan> = model
        .classes
        .iter()
        .enumerate()
        .map(|(index, class)| compiler.class(position(index), class))
        .collect::<Result<_, _>>()?;
    compiler.finish(model, classes, limits(model.stop, stop)?)
}

/// Merge the limits of the model with those of the caller.
fn limits(own: Stop, wish: Stop) -> Result<Limits, SimulationError> {
    let is_overridden = wish.completions.is_some() || wish.time.is_some();
    let stop = if is_overridden { wish } else { own };
    if stop.completions.is_none() && stop.time.is_none() {
        return refuse("it never stops: neither completions nor a time are given".to_owned());
    }
    if stop.completions == Some(0) {
        return refuse("a run of 0 completions has nothing to tell".to_owned());
    }
    let time = match stop.time {
        None => SimTime::MAX,
        Some(time) if time > 0.0 => SimTime::from_ticks(whole_ticks(time * TICKS_PER_UNIT)),
        Some(time) => return refuse(format!("the stop time {time} is not above zero")),
    };
    Ok(Limits {
        completions: stop.completions.unwrap_or(u64::MAX),
        time,
    })
}

/// The tables under construction, and the place in the program being compiled.
pub(super) struct Compiler {
    pub(super) plan: Plan,
    entries: Vec<u32>,
    calls: Vec<(u32, u32)>,
    station_index: BTreeMap<String, u32>,
    pool_index: BTreeMap<String, u32>,
    program_index: BTreeMap<String, u32>,
    pub(super) blocks: Vec<Block>,
    pub(super) here: Site,
}

impl Compiler {
    fn new(model: &Model) -> Result<Self, SimulationError> {
        let stations = resources(model.stations.iter().map(|s| (&s.name, s.servers)))?;
        let pools = resources(model.pools.iter().map(|p| (&p.name, p.tokens)))?;
        let programs: Vec<String> = model.programs.iter().map(|p| p.name.clone()).collect();
        unique(model.classes.iter().map(Class::name))?;
        Ok(Self {
            entries: vec![UNKNOWN; programs.len()],
            calls: Vec::new(),
            station_index: unique(stations.iter().map(|s| s.name.as_str()))?,
            pool_index: unique(pools.iter().map(|p| p.name.as_str()))?,
            program_index: unique(programs.iter().map(String::as_str))?,
            blocks: Vec::new(),
            here: Site::default(),
            plan: Plan {
                instructions: Vec::new(),
                sites: Vec::new(),
                programs,
                sources: Vec::new(),
                branches: Vec::new(),
                arms: Vec::new(),
                stations,
                pools,
                classes: Vec::new(),
                stack_slots: 0,
                unit: model.time_unit,
                limits: Limits {
                    completions: u64::MAX,
                    time: SimTime::MAX,
                },
            },
        })
    }

    /// Append an instruction; return its position.
    pub(super) fn emit(&mut self, instruction: Instruction) -> u32 {
        let at = self.next_position();
        self.plan.instructions.push(instruction);
        self.plan.sites.push(self.here.clone());
        at
    }

    pub(super) fn next_position(&self) -> u32 {
        position(self.plan.instructions.len())
    }

    fn source(&mut self, law: &Distribution, key: u64) -> Result<u32, SimulationError> {
        Ok(self.add_source(law.compile(TICKS_PER_UNIT)?, key))
    }

    fn add_source(&mut self, sampler: Sampler, key: u64) -> u32 {
        self.plan.sources.push(SourcePlan { sampler, key });
        position(self.plan.sources.len() - 1)
    }

    fn program(&mut self, index: u32, steps: &[Step]) -> Result<(), SimulationError> {
        self.entries[index as usize] = self.next_position();
        self.here = Site {
            program: Some(index),
            ..Site::default()
        };
        for step in steps {
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
            } => {
                let station = look_up(&self.station_index, "station", station)?;
                let source = self.source(service, *stream)?;
                self.emit(Instruction::Use { station, source });
            }
            Step::Delay { time, stream } => {
                let source = self.source(time, *stream)?;
                self.emit(Instruction::Delay { source });
            }
            Step::Acquire { pool, tokens } => self.acquire(pool, *tokens)?,
            Step::Release { pool, tokens } => self.release(pool, *tokens)?,
            Step::Call { program } => {
                let target = look_up(&self.program_index, "program", program)?;
                let at = self.emit(Instruction::Call { entry: UNKNOWN });
                self.calls.push((at, target));
            }
            Step::Loop { count, stream } => {
                let source = self.add_source(count.compile(1.0)?, *stream);
                let enter = self.emit(Instruction::LoopEnter {
                    source,
                    exit: UNKNOWN,
                });
                self.here.slots += 1;
                self.blocks.push(Block::Loop {
                    enter,
                    held: self.here.held.clone(),
                });
            }
            Step::Branch { stream } => self.open_branch(*stream),
            Step::Case { probability } => self.open_case(*probability)?,
            Step::Fork => self.open_fork(),
            Step::Arm => self.open_arm()?,
            Step::End => self.close()?,
        }
        Ok(())
    }

    fn acquire(&mut self, pool: &str, tokens: u32) -> Result<(), SimulationError> {
        let pool = look_up(&self.pool_index, "pool", pool)?;
        let capacity = self.plan.pools[pool as usize].capacity;
        if tokens == 0 || tokens > capacity {
            return self.refuse_here(&format!("it acquires {tokens} tokens of {capacity}"));
        }
        self.emit(Instruction::Acquire { pool, tokens });
        match self.here.held.binary_search_by_key(&pool, |held| held.0) {
            Ok(found) => self.here.held[found].1 += tokens,
            Err(place) => self.here.held.insert(place, (pool, tokens)),
        }
        Ok(())
    }

    fn release(&mut self, pool: &str, tokens: u32) -> Result<(), SimulationError> {
        let pool = look_up(&self.pool_index, "pool", pool)?;
        let found = self.here.held.binary_search_by_key(&pool, |held| held.0);
        let Some(place) = found
            .ok()
            .filter(|&at| self.here.held[at].1 >= tokens && tokens > 0)
        else {
            return self.refuse_here("it releases tokens that it does not hold");
        };
        self.emit(Instruction::Release { pool, tokens });
        self.here.held[place].1 -= tokens;
        self.here.held.retain(|held| held.1 > 0);
        Ok(())
    }

    /// The frame around a class: think or arrive, begin, walk the program, complete.
    fn class(&mut self, index: u32, class: &Class) -> Result<ClassPlan, SimulationError> {
        self.here = Site::default();
        let entry = self.next_position();
        let population = match class {
            Class::Closed {
                population: 0,
                name,
                ..
            } => {
                return refuse(format!("class '{name}' has no jobs"));
            }
            Class::Closed {
                population,
                think,
                stream,
                ..
            } => {
                if let Some(think) = think {
                    let source = self.source(think, *stream)?;
                    self.emit(Instruction::Delay { source });
                }
                self.walk(index, class.program())?;
                self.emit(Instruction::Jump { to: entry });
                Some(*population)
            }
            Class::Open {
                interarrival,
                stream,
                ..
            } => {
                let source = self.source(interarrival, *stream)?;
                self.emit(Instruction::Delay { source });
                self.emit(Instruction::Spawn {
                    class: index,
                    entry: entry + 3,
                });
                self.emit(Instruction::Jump { to: entry });
                self.walk(index, class.program())?;
                self.emit(Instruction::Exit);
                None
            }
        };
        Ok(ClassPlan {
            name: class.name().to_owned(),
            entry,
            population,
        })
    }

    fn walk(&mut self, class: u32, program: &str) -> Result<(), SimulationError> {
        let entry = self.entries[look_up(&self.program_index, "program", program)? as usize];
        self.emit(Instruction::Begin { class });
        self.emit(Instruction::Call { entry });
        self.emit(Instruction::Complete { class });
        Ok(())
    }

    fn finish(
        mut self,
        model: &Model,
        classes: Vec<ClassPlan>,
        limits: Limits,
    ) -> Result<Plan, SimulationError> {
        for &(at, program) in &self.calls {
            let entry = self.entries[program as usize];
            self.plan.instructions[at as usize] = Instruction::Call { entry };
        }
        let Some(slots) =
            stack_depth::of_programs(&self.plan.sites, &self.calls, model.programs.len())
        else {
            return refuse("a program calls itself, directly or through others".to_owned());
        };
        self.plan.stack_slots = slots as usize + 1;
        self.plan.classes = classes;
        self.plan.limits = limits;
        Ok(self.plan)
    }

    pub(super) fn refuse_here<T>(&self, reason: &str) -> Result<T, SimulationError> {
        let program = self
            .here
            .program
            .map_or("", |index| &self.plan.programs[index as usize]);
        refuse(format!("program '{program}': {reason}"))
    }
}

/// Copy names and capacities, refusing a capacity of zero.
fn resources<'a>(
    list: impl Iterator<Item = (&'a String, u32)>,
) -> Result<Vec<Resource>, SimulationError> {
    list.map(|(name, capacity)| match capacity {
        0 => refuse(format!("'{name}' has a capacity of 0")),
        _ => Ok(Resource {
            name: name.clone(),
            capacity,
        }),
    })
    .collect()
}

/// Index names, refusing one that stands twice.
fn unique<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, u32>, SimulationError> {
    let mut index = BTreeMap::new();
    for (place, name) in names.enumerate() {
        if index.insert(name.to_owned(), position(place)).is_some() {
            return refuse(format!("the name '{name}' stands twice"));
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

fn refuse<T>(reason: String) -> Result<T, SimulationError> {
    Err(SimulationError::Invalid(reason))
}

/// Return `length` as an index of the tables.
pub(super) fn position(length: usize) -> u32 {
    u32::try_from(length).expect("a model has fewer than 2^32 steps")
}
