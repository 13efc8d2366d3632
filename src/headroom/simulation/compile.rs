//! Model data to flat tables.
//!
//! Blocks are compiled with an explicit stack, so nesting may be of any depth. What the builder
//! checks with source lines (balance, probabilities, names) is checked here again, briefly,
//! because the engine relies on it.

use std::collections::BTreeMap;

use super::alias::AliasTable;
use super::distribution::{Distribution, Sampler};
use super::error::SimulationError;
use super::model::{Class, FORMAT, Model, Step, Stop};
use super::program::{
    BranchPlan, ClassPlan, Instruction, Limits, Plan, Resource, Site, SourcePlan,
};
use super::stack_depth;
use super::time::{SimTime, TICKS_PER_UNIT, whole_ticks};

/// Allowed distance of the sum of a branch's probabilities from 1.
const PROBABILITY_TOLERANCE: f64 = 1e-9;
/// Stands where a position is not known yet.
const UNKNOWN: u32 = u32::MAX;

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

/// A block that was opened and not yet closed.
enum Block {
    Loop {
        enter: u32,
        held: Vec<(u32, u32)>,
    },
    Branch(OpenBranch),
    Case,
    Fork {
        fork: u32,
        held: Vec<(u32, u32)>,
        arms: Vec<u32>,
        slots: u32,
    },
    Arm,
}

/// A branch whose cases are being collected.
struct OpenBranch {
    at: u32,
    key: u64,
    held_before: Vec<(u32, u32)>,
    held_after: Option<Vec<(u32, u32)>>,
    targets: Vec<u32>,
    probabilities: Vec<f64>,
    jumps: Vec<u32>,
}

/// The tables under construction, and the place in the program being compiled.
struct Compiler {
    plan: Plan,
    entries: Vec<u32>,
    calls: Vec<(u32, u32)>,
    station_index: BTreeMap<String, u32>,
    pool_index: BTreeMap<String, u32>,
    program_index: BTreeMap<String, u32>,
    blocks: Vec<Block>,
    here: Site,
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
    fn emit(&mut self, instruction: Instruction) -> u32 {
        let at = self.next_position();
        self.plan.instructions.push(instruction);
        self.plan.sites.push(self.here.clone());
        at
    }

    fn next_position(&self) -> u32 {
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

    fn open_branch(&mut self, key: u64) {
        let at = self.emit(Instruction::Branch { table: UNKNOWN });
        self.blocks.push(Block::Branch(OpenBranch {
            at,
            key,
            held_before: self.here.held.clone(),
            held_after: None,
            targets: Vec::new(),
            probabilities: Vec::new(),
            jumps: Vec::new(),
        }));
    }

    fn open_case(&mut self, probability: f64) -> Result<(), SimulationError> {
        let target = self.next_position();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case stands outside a branch");
        };
        branch.targets.push(target);
        branch.probabilities.push(probability);
        self.here.held.clone_from(&branch.held_before);
        self.blocks.push(Block::Case);
        Ok(())
    }

    fn open_fork(&mut self) {
        let fork = self.emit(Instruction::Fork {
            first: UNKNOWN,
            count: 0,
        });
        let (held, slots) = (self.here.held.clone(), self.here.slots);
        self.here.slots += 1;
        self.emit(Instruction::Join);
        self.here.slots = slots;
        self.emit(Instruction::Jump { to: UNKNOWN });
        self.blocks.push(Block::Fork {
            fork,
            held,
            arms: Vec::new(),
            slots,
        });
    }

    fn open_arm(&mut self) -> Result<(), SimulationError> {
        let entry = self.next_position();
        let Some(Block::Fork { arms, .. }) = self.blocks.last_mut() else {
            return self.refuse_here("an arm stands outside a fork");
        };
        arms.push(entry);
        self.here.held.clear();
        self.here.slots = 0;
        self.blocks.push(Block::Arm);
        Ok(())
    }

    /// Close the innermost block.
    fn close(&mut self) -> Result<(), SimulationError> {
        match self.blocks.pop() {
            None => self.refuse_here("an end closes nothing"),
            Some(Block::Loop { enter, held }) => self.close_loop(enter, &held),
            Some(Block::Case) => self.close_case(),
            Some(Block::Branch(branch)) => self.close_branch(branch),
            Some(Block::Arm) if self.here.held.is_empty() => {
                self.emit(Instruction::ArmEnd);
                Ok(())
            }
            Some(Block::Arm) => self.refuse_here("an arm ends while it still holds tokens"),
            Some(Block::Fork {
                fork,
                held,
                arms,
                slots,
            }) => {
                self.here.held = held;
                self.here.slots = slots;
                self.close_fork(fork, &arms)
            }
        }
    }

    fn close_loop(&mut self, enter: u32, held: &[(u32, u32)]) -> Result<(), SimulationError> {
        if self.here.held != held {
            return self.refuse_here("a loop changes what is held");
        }
        self.emit(Instruction::LoopNext { body: enter + 1 });
        self.here.slots -= 1;
        let next = self.next_position();
        if let Instruction::LoopEnter { exit, .. } = &mut self.plan.instructions[enter as usize] {
            *exit = next;
        }
        Ok(())
    }

    fn close_case(&mut self) -> Result<(), SimulationError> {
        let jump = self.emit(Instruction::Jump { to: UNKNOWN });
        let held = self.here.held.clone();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case stands outside a branch");
        };
        branch.jumps.push(jump);
        if *branch.held_after.get_or_insert_with(|| held.clone()) != held {
            return self.refuse_here("the cases of a branch differ in what they hold");
        }
        Ok(())
    }

    fn close_branch(&mut self, branch: OpenBranch) -> Result<(), SimulationError> {
        let total: f64 = branch.probabilities.iter().sum();
        let is_valid = branch
            .probabilities
            .iter()
            .all(|share| (0.0..=1.0).contains(share));
        if !is_valid || (total - 1.0).abs() > PROBABILITY_TOLERANCE {
            return self.refuse_here(&format!("the probabilities of a branch sum to {total}"));
        }
        let next = self.next_position();
        for jump in branch.jumps {
            self.plan.instructions[jump as usize] = Instruction::Jump { to: next };
        }
        let table = position(self.plan.branches.len());
        self.plan.instructions[branch.at as usize] = Instruction::Branch { table };
        self.plan.branches.push(BranchPlan {
            targets: branch.targets,
            table: AliasTable::new(&branch.probabilities),
            key: branch.key,
        });
        self.here.held = branch.held_after.unwrap_or(branch.held_before);
        Ok(())
    }

    fn close_fork(&mut self, fork: u32, arms: &[u32]) -> Result<(), SimulationError> {
        if arms.is_empty() {
            return self.refuse_here("a fork has no arm");
        }
        let (first, count) = (position(self.plan.arms.len()), position(arms.len()));
        self.plan.arms.extend_from_slice(arms);
        let next = self.next_position();
        self.plan.instructions[fork as usize] = Instruction::Fork { first, count };
        self.plan.instructions[fork as usize + 2] = Instruction::Jump { to: next };
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

    fn refuse_here<T>(&self, reason: &str) -> Result<T, SimulationError> {
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
fn position(length: usize) -> u32 {
    u32::try_from(length).expect("a model has fewer than 2^32 steps")
}
