//! A program of bench:peers (../../program.ts describes its requests): the crawl of figure 7 as a
//! differential dataflow, in one thread and in memory.
//!
//! It is the bound of what durability and transactions cost: a document is its number and three
//! keys, without contents, nothing is written to a disk, and no other process reads what is there.
//!
//! The dataflow is the clustering in three phases (../../../crawl-rate/documents/clustering.ts), kept
//! up to date: group by a key; the first of each group survives, and the others follow it. The first
//! is the one with the smallest number, so documents count in the order of their numbers. What the
//! other systems do at the same time is one round of updates here.
//!
//! usage: differential-dataflow DOCUMENTS CLUSTERS
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::VecCollection;
use std::cell::RefCell;
use std::fs;
use std::io::{stdin, BufWriter, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

type Keys = [u64; 3];
type Document = (u32, Keys);

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let documents = read_documents(&files[0]);
    let repository = fs::read_to_string(&files[1])
        .expect("the clusters")
        .lines()
        .count();
    timely::execute_directly(move |worker| {
        let mut crawl = Crawl::new(worker, documents);
        for request in stdin().lines() {
            let request = request.expect("a request");
            println!("{}", crawl.answer(&request, repository));
        }
    });
}

fn read_documents(file: &str) -> Vec<Keys> {
    let records = fs::read_to_string(file).expect("the documents");
    let key = |field: Option<&str>| u64::from_str_radix(field.expect("a key"), 16).expect("a key");
    let keys_of = |record: &str| {
        let mut fields = record.split('\t').skip(1);
        [key(fields.next()), key(fields.next()), key(fields.next())]
    };
    records.lines().map(keys_of).collect()
}

struct Crawl<'a> {
    worker: &'a mut Worker,
    documents: Vec<Keys>,
    input: InputSession<u32, Document, isize>,
    probe: Handle<u32>,
    /// The representative of each document that has one.
    clusters: Rc<RefCell<Vec<Option<u32>>>>,
    /// The number of the next new document.
    next: usize,
}

impl<'a> Crawl<'a> {
    fn new(worker: &'a mut Worker, documents: Vec<Keys>) -> Self {
        let mut probe = Handle::new();
        let clusters = Rc::new(RefCell::new(vec![None; documents.len()]));
        let found = clusters.clone();
        let input = worker.dataflow(|scope| {
            let (input, documents) = scope.new_collection();
            cluster(documents)
                .inspect(move |((id, representative), _, difference)| {
                    if *difference > 0 {
                        found.borrow_mut()[*id as usize] = Some(*representative);
                    }
                })
                .probe_with(&mut probe);
            input
        });
        Crawl {
            worker,
            documents,
            input,
            probe,
            clusters,
            next: 0,
        }
    }

    fn answer(&mut self, request: &str, repository: usize) -> String {
        let words: Vec<&str> = request.split(' ').collect();
        let number = |i: usize| words[i].parse::<f64>().expect("a number");
        match words[0] {
            "load" => self.closed(repository, repository, f64::INFINITY),
            "crawl" => self.closed(number(1) as usize, number(2) as usize, number(3)),
            "arrive" => self.arrive(number(1) as usize, number(2)),
            "partition" => self.write(words[1]),
            _ => panic!("unknown request: {request}"),
        }
    }

    /// Adds documents, `together` in each round, until all are added or the time is over.
    fn closed(&mut self, count: usize, together: usize, seconds: f64) -> String {
        let start = Instant::now();
        let mut done = 0;
        while done < count && start.elapsed().as_secs_f64() < seconds {
            let round = together.min(count - done);
            self.round(round);
            done += round;
        }
        answer(done, start, &[])
    }

    /// Adds documents, each when it is due; a latency counts from then.
    fn arrive(&mut self, count: usize, per_second: f64) -> String {
        let start = Instant::now();
        let mut latencies = Vec::new();
        for i in 0..count {
            let due = start + Duration::from_secs_f64(i as f64 / per_second);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.round(1);
            latencies.push(due.elapsed().as_nanos() as f64 / 1e3);
        }
        answer(count, start, &latencies)
    }

    /// Adds the next documents; returns when the clusters are up to date.
    fn round(&mut self, count: usize) {
        for n in self.next..self.next + count {
            self.input.insert((n as u32, self.documents[n]));
        }
        self.next += count;
        self.input.advance_to(self.input.time() + 1);
        self.input.flush();
        let (probe, time) = (&self.probe, self.input.time());
        self.worker.step_while(|| probe.less_than(time));
    }

    fn write(&self, file: &str) -> String {
        let mut out = BufWriter::new(fs::File::create(file).expect("the file"));
        for (id, representative) in self.clusters.borrow()[..self.next].iter().enumerate() {
            let representative = representative.expect("a cluster");
            writeln!(out, "{id:010}\t{representative:010}").expect("the file");
        }
        out.flush().expect("the file");
        answer(0, Instant::now(), &[])
    }
}

/// The representative of each document.
fn cluster<'scope>(
    documents: VecCollection<'scope, u32, Document>,
) -> VecCollection<'scope, u32, (u32, u32)> {
    let mut survivors = documents;
    // (first of the group, document): whom each document follows, phase by phase.
    let mut follows = Vec::new();
    for phase in 0..3 {
        let led = survivors
            .map(move |(id, keys)| (keys[phase], (id, keys)))
            .reduce(|_, group, output| {
                let first = group[0].0 .0; // They come in the order of their numbers.
                output.extend(
                    group
                        .iter()
                        .map(|(document, _)| ((**document, first), 1isize)),
                );
            })
            .map(|(_, led)| led);
        follows.push(led.clone().map(|((id, _), first)| (first, id)));
        survivors = led
            .filter(|((id, _), first)| id == first)
            .map(|(document, _)| document);
    }
    let third = follows
        .pop()
        .expect("a phase")
        .map(|(first, id)| (id, first));
    follows.into_iter().rev().fold(third, |later, phase| {
        phase.join_map(later, |_, id, representative| (*id, *representative))
    })
}

fn answer(done: usize, start: Instant, latencies: &[f64]) -> String {
    let seconds = start.elapsed().as_secs_f64();
    format!(r#"{{"done":{done},"seconds":{seconds},"latenciesUs":{latencies:?}}}"#)
}
