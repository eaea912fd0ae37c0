// Package simulation runs all of Carillon under faults, in virtual time, and checks that it keeps its promises:
//
//   - Each due action inside its catch-up window is started once or accounted for. None is started twice.
//   - Overlap policies hold at every instant.
//   - The counters agree with the events.
//   - When the faults stop, everything comes to rest.
//
// # What is simulated
//
// The real code of the generator, invoker, backfiller and frontend pools and of the worker runs in one synctest bubble, with
// two processes of each and two shards. Their requests to NATS go to a world that carries out one thing at a time: reads and
// writes of buckets, publishes, deliveries and acknowledgements on internal/simulation/jsmodel, a model of JetStream. A seed
// decides how long each message takes and what goes wrong:
//
//   - One process, or all at once, is killed before or after one of its calls takes effect. A process is stopped in order. A
//     process stands still for up to half a minute; in a fifth of the seeds for minutes, until the streams have forgotten the
//     message IDs of what it had sent. A new process takes the place of one that is gone.
//   - Requests and replies are lost, also after the write has happened. A published message arrives twice. A few messages take
//     seconds and are overtaken.
//   - In a quarter of the seeds hand-offs take seconds, a generator's task is delivered to a second generator meanwhile, and
//     schedules are due every second or two. So hand-offs overlap and arrive out of order.
//   - A replica answers that has not seen the newest writes.
//   - Clocks of processes are off, in an eighth of the seeds by more than the lead of the generator's timers. They jump, also
//     backwards.
//   - JetStream cannot be reached for up to 20 s, or has no room for new messages.
//   - In a quarter of the seeds each process plays all roles. These live and die together and share their caches.
//   - A consumer is deleted. Everything unacknowledged comes again.
//   - The code of a run fails and is tried again, or continues although it was asked to stop.
//   - In a third of the seeds one worker is a model (model.go) that breaks docs/worker-protocol.md with some runs: it never
//     comes back, or reports twice with different statuses.
//   - Callers create, update, pause, unpause, trigger, backfill, cancel, skip, delete and create again meanwhile. When a
//     request gets no answer, they repeat it under the same request ID.
//   - Updates change all parts of a spec, the action, the policies and the limit of actions, with a conflict token that is
//     right, old or absent (change.go). Triggers and backfills replace the policy and parts of the action, or come with the
//     creation. Runs are canceled and terminated by hand, and deletes are asked for twice (callers_more.go).
//   - In a sixth of the seeds schedules leave out named calendars, which callers create, change and delete (calendars.go). Now
//     and then a schedule is updated at the same moment.
//   - In a sixth of the seeds callers pause, unpause, trigger or delete many schedules by one bulk operation (bulk.go), which
//     the real runners of background jobs carry out.
//   - The namespace is frozen for a while and limits its starts and runs; in a quarter of the seeds the limits change now and
//     then. All processes know the change at once.
//   - In one of 200 seeds there is more to do at once than is done in one go (volume.go): several backfills of hundreds of
//     times, or everything that was due in 17 minutes or more without a generator. So hand-offs, the buffer, rounds of starts
//     and the room for backfills meet their limits.
//   - In a twelfth of the seeds there is a recess (recess.go): for minutes, or for more than an hour, nothing is due and nobody
//     asks for anything. Meanwhile all processes are gone, or all except the workers, or one stands still. By the end the
//     streams have forgotten message IDs and, after an hour, what was deleted. Still no record and no event may exist twice.
//   - In an eighth of the seeds a schedule is closed when it has had nothing to do for some seconds.
//   - In a sixth of the seeds checks with repair run now and then (scrub.go), in a process that is killed like all others. In
//     half of those seeds scrubbers run as well. Both are the real code of internal/consistency.
//   - In a quarter of the seeds with several schedules the last schedule is in a second namespace, under the ID of the first
//     (twin.go). That namespace has its own workers, its own calendars under the same names, and its own freezes and limits.
//   - In half of the seeds with checks JetStream loses messages that it has acknowledged (loss.go): timers, guards, wakes,
//     hand-offs, runs and completions.
//
// # Executions
//
// Plans with executions have no schedules (ExecutionPlanOf). The real code of history and matching runs, with two processes of
// each, and so do the polls of two gateways. Behind each of these is a model of a worker (executions_worker.go), which runs the
// script of a workflow on its history: steps of activities, timers, signals, children and signals to other workflows, drawn from the workflow ID (executions_script.go,
// executions_family.go). Workflows continue as new, are tried again, and accept and reject updates (executions_update.go). Clients reset
// them to earlier workflow tasks (executions_reset.go), and delete runs (executions_delete.go),
// also the children of a workflow just before they reset it. In a sixth of the seeds the namespace keeps ended runs for
// seconds, and things go wrong for longer than that.
// In a third of the seeds checks with repair run now and then. Nothing is lost here, so whatever they find of a workflow is a false alarm, and
// at the end one must find nothing.
// Activities fail, report their progress and fall silent. Clients start, signal, update, query, cancel, terminate and read workflows
// (executions_client.go), as schedules do too; when a request gets no answer, they repeat it under the same request ID.
// Everything goes wrong that is listed above for processes and JetStream. Plain NATS messages are lost and late, and keep their
// order on each connection (plain.go).
//
// Each entry is checked when it is stored (executions.go): it follows on the journal, and no timer fires early. So is each task
// that code begins to work on: no other code has begun with it. The rest is checked at the end (executions_check.go): results,
// signals, starts, what code has seen, who was told of an end, and what history says about each run. When the faults stop,
// workflows get the signals that they may wait for, and nothing else is asked until they have ended.
//
// No entry is removed that a run needs which is kept: one about the run, or one with events that it has from another run. Nobody sees a deleted run again,
// also not in the answer to a repeated start. In the end nothing is stored of runs that were deleted or have expired, except the entry that stands for
// a deleted run. Where runs expire, the simulation goes on until nothing at all is stored.
//
// # What is not
//
// Namespaces exist from the beginning and stay. No bulk operation goes by a query, because there is no search index. The request
// ID of a run decides how long the run takes, how often it is tried and whether it fails. JetStream is a model, and so is the
// client library: its connections, buffers and reconnects do not exist. Computing takes no time. JetStream loses only the
// acknowledged messages that loss.go names: never a record or an event, the hand-off of a trigger or backfill, or a person's
// request to end a run. Other tests cover power loss and clusters that disagree. No consumer passes over a message, and there
// are no dead letters to replay.
//
// # Checks
//
// Some findings are made when they happen (ledger.go, check.go): a run that is started twice, too many runs at once, too many
// waiting runs, a worker's code that begins a second time for no reason. So are broken promises of order (promise.go):
//
//   - A run is stored after its timeout timer and after the record that says it is to be started.
//   - A run leaves the queue when it is over, and not before: its completion is stored, or it was terminated.
//   - A hand-off is stored before the record that says it was made. The guard of a definition or a request is stored before
//     that definition or request.
//   - An event leaves the outbox of a record, and a control leaves the record, only when its stream has it.
//   - A message is acknowledged only when the record contains what it says. When there is still something to do, a timer or
//     another message must lead to it.
//   - A timer that has fired is not armed for the same time again and again.
//   - A run that counts as running is in the queue, or its completion waits.
//   - A hand-off gives up what is beyond its limit and nothing else. The buffer accepts as much as it has room for. A backfill
//     hands over no more than there was room for in a record that it may have read.
//
// Scrubbers and checks may break none of these, and may count no run as lost that is not. TestLosses makes sure that scrubbers
// alone, and checks alone, repair missing timers, stalled triggers and backfills, and lost runs. With checks, all is at rest
// only when a check that began after the last change finds nothing. When JetStream has lost a message of a schedule, its
// promises of order are not checked. Everything else is, above all that no action is missed.
//
// Policies and limits change, so each record is compared with the definitions that its process may use at that moment
// (records.go).
//
// Everything else is compared at the end, with a reading of the spec that shares no code with the product (spec.go):
//
//   - what became of actions under each version of the definition, and which versions requests with a conflict token were
//     carried out on (check_actions.go, check_spans.go, check_changes.go)
//   - what was skipped (check_skips.go)
//   - that no schedule is closed too early (check_closed.go)
//   - that runs have events, and no run begins that was given up (check_begun.go)
//   - what callers have asked for (check_requests.go)
//   - what runs were told, including the results of the runs before them (check_contents.go)
//   - what calendars contain; that no calendar is deleted that a schedule uses; that schedules use the newest one in the end;
//     that no action comes in hindsight which a calendar had left out (check_calendars.go)
//   - that a bulk operation is applied to each schedule once, and counts that (bulk.go)
//   - the findings of internal/audit (check_audit.go)
//
// Where nothing goes wrong, code begins within a second and each message is delivered once (check_timely.go, TestWithoutFaults).
// The rate of a namespace is checked only where nothing else goes wrong: it is kept, and it holds back nothing in the other
// namespace (TestLimits, TestLimitsOfOneNamespace). Each check says in a comment what it leaves out, and why.
//
// # Repeating a seed
//
// A seed, together with the plan drawn from it, always gives the same trace; TestSameSeedSameTrace checks that. A failing test
// prints the command that repeats it:
//
//	CARILLON_SEED=1234 go test ./internal/simulation -run 'TestSeed$' -v -artifacts
//
// CARILLON_PLAN='{"Schedules":1,…}' stands in front where a smaller plan than that of the seed fails too. The whole trace is
// written to the test's artifacts. CARILLON_SEEDS=10000 makes TestSeeds and TestExecutions try that many
// new seeds, and nothing else.
//
// Three things make a simulation repeatable: every goroutine waits between two events, calls that arrive at the same moment are
// sorted, and the world gives a process one message at a time. These can break it: two goroutines of one process that are
// woken by the same event and race; a select with several ready cases; a map whose order decides what is asked first; a
// context.AfterFunc of a context that has ended already.
//
// The package may import everything; only tests may import it.
package simulation
