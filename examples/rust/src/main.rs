//! Loads a saved model and runs it on several threads, by the C API: `classify MODEL`.

mod stator;

use stator::{Error, Model, Tensor};

fn score(model: &Model, number: f32) -> Result<f32, Error> {
    let x = Tensor::new(&[1, 4], &[number; 4])?;
    Ok(model.run(&[&x])?.iter().sum())
}

fn run(path: &str) -> Result<(), Error> {
    let model = Model::load(path)?;
    for method in model.methods() {
        println!("{method}");
    }
    let scores: Vec<Result<f32, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..=4).map(|k| (k, &model)).map(|(k, model)| scope.spawn(move || score(model, k as f32))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for one in scores {
        println!("score {:.6}", one?);
    }
    if let Err(error) = score(&model, -1.0) {
        println!("raised {}{}: {}", error.code, error.kind, error.message);
    }
    Ok(())
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: classify MODEL");
    if let Err(error) = run(&path) {
        eprintln!("[{}] {}: {}", error.code, error.kind, error.message);
        std::process::exit(1);
    }
}
