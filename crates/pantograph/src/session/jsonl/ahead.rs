//! Records read from lines on as many threads as pay: what they say is found out in any order,
//! and taken in theirs.

use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};

use super::blocks::{Block, Lines};
use super::decode::{self, Context, Fault, Unchained};
use super::line::Line;

/// What a thread is given at once: enough that handing it over costs nothing.
const BLOCK_BYTES: usize = 512 * 1024;

/// More are of no use: one thread takes what they find.
const MAX_THREADS: usize = 4;

/// Why not all records were taken.
pub(super) enum Stopped<E> {
    /// The file could not be read.
    Read(io::Error),
    /// Whoever took them wants no more.
    Taken(E),
}

type Decoded = Result<Option<Unchained>, Fault>;

/// Gives each of the lines that are left, and what it says, to `take`, in order.
///
/// # Errors
///
/// The lines cannot be read, or `take` fails; what is being decoded then is dropped.
pub(super) fn decode<E>(
    lines: &mut Lines<impl BufRead>,
    context: Context<'_>,
    mut take: impl FnMut(&Line<()>, Decoded) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let mut next = lines.block(BLOCK_BYTES).map_err(Stopped::Read)?;
    let cores = match lines.is_at_end().map_err(Stopped::Read)? {
        true => 1,
        false => thread::available_parallelism().map_or(1, |cores| cores.get()),
    };
    // On one core another thread is of no use.
    let threads = if cores > 1 { cores.min(MAX_THREADS) } else { 0 };
    thread::scope(|scope| {
        let workers: Vec<Worker> = (0..threads)
            .map_while(|_| Worker::start(scope, context))
            .collect();
        let mut take_all = |lines: &mut Lines<_>, (block, answers): Answer| {
            lines.recycle(block);
            let mut answers = answers.into_iter();
            answers.try_for_each(|(line, decoded)| take(&line, decoded).map_err(Stopped::Taken))
        };
        if workers.is_empty() {
            while let Some(block) = next {
                take_all(lines, decode_block(block, context))?;
                next = lines.block(BLOCK_BYTES).map_err(Stopped::Read)?;
            }
            return Ok(());
        }
        // Two blocks each: one in work, one that waits.
        let room = 2 * workers.len();
        let (mut given, mut taken) = (0, 0);
        loop {
            while given < taken + room
                && let Some(block) = next
            {
                workers[given % workers.len()].give(block);
                given += 1;
                next = lines.block(BLOCK_BYTES).map_err(Stopped::Read)?;
            }
            if taken == given {
                return Ok(());
            }
            take_all(lines, workers[taken % workers.len()].answer())?;
            taken += 1;
        }
    })
}

/// What the lines of a block say, and the block itself, whose memory is used again.
type Answer = (Block, Vec<(Line<()>, Decoded)>);

fn decode_block(block: Block, context: Context<'_>) -> Answer {
    let lines = block.lines().filter(|line| !line.is_blank());
    let answers = lines
        .map(|line| (line.without(), decode::unchained(line.bytes, &context)))
        .collect();
    (block, answers)
}

/// A thread that decodes, block after block, until nobody gives it more.
struct Worker {
    blocks: Sender<Block>,
    answers: Receiver<Answer>,
}

impl Worker {
    /// `None` if the system has no thread left.
    fn start<'scope, 'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        context: Context<'env>,
    ) -> Option<Self> {
        let (blocks, given) = mpsc::channel::<Block>();
        let (answer, answers) = mpsc::channel();
        let work = move || {
            for block in given {
                // Nobody takes them any more.
                if answer.send(decode_block(block, context)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().spawn_scoped(scope, work);
        started.ok().map(|_| Self { blocks, answers })
    }

    fn give(&self, block: Block) {
        // A thread that is gone has panicked, which the scope passes on.
        let _ = self.blocks.send(block);
    }

    fn answer(&self) -> Answer {
        self.answers.recv().unwrap_or_default()
    }
}
