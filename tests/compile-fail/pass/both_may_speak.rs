//! A state in which both sides may send, harmlessly: both expect the other's word after their own.
#![deny(unsafe_code)]

sing_sdk::contract!(
    "contract Job {
       in message Interrupt();
       out message Done(int status);
       state Running: one { Interrupt? -> Stopping; Done! -> Over; }
       state Stopping: Done! -> closed;
       state Over: Interrupt? -> closed;
     }"
);

pub fn run(job: Job::Exp<Job::Running>) {
    match job.try_recv() {
        Ok(Job::exp::Running::Interrupt(job)) => job.send_done(130).close(),
        Ok(Job::exp::Running::Closed) => {}
        Err(job) => {
            let over: Job::Exp<Job::Over> = job.send_done(0);
            over.close();
        }
    }
}

fn main() {}
