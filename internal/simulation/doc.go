// Package simulation runs all of Carillon under faults, in virtual time, and checks that it keeps its promises: each due
// action inside its catch-up window is started once or accounted for, none is started twice, overlap policies hold at every
// instant, the counters are what the events add up to, and when the faults stop everything comes to rest.
//
// # What is simulated
//
// The real code of the generator, invoker, backfiller and frontend pools and of the worker, two processes of each, runs in one
// synctest bubble, over two shards. What they ask of NATS goes to a world that carries out one thing at a time: reads and writes of
// buckets, publishes, deliveries and acknowledgements on internal/simulation/jsmodel, a model of JetStream. How long everything is on
// its way, and what goes wrong, is drawn from a seed:
//
//   - a process is killed before or after any of its calls takes effect, or all are at once; one is stopped in order, or
//     stands still for up to half a minute, in a fifth of the seeds for minutes, until the streams have forgotten the message
//     IDs of what it had sent; a new one takes its place
//   - requests and replies are lost, also where the write has happened; a published message arrives twice; a few messages
//     take seconds and are overtaken
//   - in a quarter of the seeds hand-offs take seconds, tasks of generators are delivered to a second one meanwhile, and schedules
//     are due every second or two, so that hand-offs overlap and arrive out of order
//   - a replica answers that has not seen the newest writes
//   - clocks of processes are off, in an eighth of the seeds by more than the lead of the generator's timers, and jump, also back
//   - JetStream cannot be reached for up to 20 s, or has no room for anything new
//   - in a quarter of the seeds each process plays all roles, which live and die together and share what they know
//   - somebody deletes a consumer; all that is not acknowledged comes again
//   - code of runs fails, and is tried again, or goes on though it was asked to stop
//   - in a third of the seeds one worker is a model (model.go), which breaks docs/worker-protocol.md with some runs: it never comes
//     back, or reports twice with different statuses
//   - callers create, update, pause, unpause, trigger, backfill, cancel, skip, delete and create again in between, and ask
//     once more, under the same request ID, for what they have no answer to
//   - updates change all parts of a spec, the action, the policies and the limit of actions, with a conflict token that is right,
//     old, or not there (change.go); triggers and backfills replace the policy and parts of the action, or come with the creation;
//     runs are canceled and terminated by hand, and deletes asked twice (people_more.go)
//   - in a sixth of the seeds schedules leave out named calendars, which callers create, change and delete (calendars.go); now and then a
//     schedule is updated at the same moment
//   - in a sixth of the seeds callers pause, unpause, trigger or delete many schedules by one bulk operation (bulk.go), which the real
//     runners of background jobs carry out
//   - the namespace is frozen for a while, and limits its starts and runs, in a quarter of the seeds by other limits now and then; all
//     processes know that at once
//   - in one of 200 seeds there is more to do at once than is done in one go (volume.go): several backfills of hundreds of times, or
//     what was due in the 17 minutes or more in which no generator ran. So hand-offs, the buffer, rounds of starts and the room for
//     backfills meet their limits
//   - in a twelfth of the seeds there is a recess (recess.go): for minutes, or for more than an hour, nothing is due and nobody asks for
//     anything, while all processes are gone, or all but the workers, or one stands still. By its end the streams have forgotten
//     message IDs and, after an hour, what was deleted; no record and no event may be there twice for that
//   - in an eighth of the seeds a schedule is closed when it has had nothing to do for some seconds
//   - in a sixth of the seeds somebody runs a check with repair now and then (scrub.go), in a process that is killed like all others, and
//     in half of those scrubbers run as well: the real code of internal/consistency
//   - in a quarter of the seeds with several schedules the last one is in a second namespace, under the ID of the first (twin.go). That
//     namespace has workers of its own, calendars of the same names, and its own freezes and limits
//   - in half of the seeds with checks JetStream loses messages that it has acknowledged (loss.go): timers, guards, wakes, hand-offs, runs,
//     completions
//
// # What is not
//
// Namespaces are there from the beginning, and stay. No bulk operation goes by a query: there is no search index.
// How long a run takes, how often it is tried and whether it fails follows from its request ID. JetStream is a model, and so is
// the client library: connections, its buffers and its reconnects are not there. What a process computes takes no time. Of what JetStream has
// acknowledged nothing is lost but the messages that loss.go names, never a record or an event, nor the hand-off of a trigger or backfill,
// nor the wish of a person to end a run: power loss and clusters that disagree are the matter of other tests. No consumer passes over a
// message, and there are no dead letters to replay.
//
// # Checks
//
// A run that is started twice, too many runs at once, too many that wait, a worker's code that begins a second time for no
// reason: these are found when they happen (ledger.go, check.go). So are promises of order that are not kept (promise.go):
//
//   - a run is stored after the record that says it is to be started, and after its timeout timer
//   - it leaves the queue when it is over, and not before: its completion is stored, or it was terminated
//   - a hand-off is stored before the record which says that it was made, and the guard of a definition or a request before that
//   - an event leaves the outbox of a record, and a control the record, when its stream has it
//   - a message is acknowledged when the record has what it says; and when there is still something to do, a timer or another
//     message sees to it
//   - a timer that has fired is not armed for the same time again and again
//   - what counts as running is in the queue, or its completion waits
//   - a hand-off gives up what is beyond its limit and nothing else, the buffer takes in what it has room for, and a backfill hands over
//     no more than there was room for by a record that it may have read
//
// What looks after schedules may break none of them, and count no run as lost that is not. TestLosses makes sure that scrubbers alone, and
// checks alone, mend missing timers, stalled triggers and backfills, and lost runs. With checks, all is at rest only when a check
// that has begun after the last change finds nothing. Of a schedule that JetStream has lost something of, promises of order are not looked
// at; all else is, that no action is missed above all.
//
// Policies and limits change, so each record is held against the definitions that its process may go by at that moment (records.go).
//
// What can only be told in the end is compared in the end, against a reading of the spec that shares no code with the product
// (spec.go): what became of actions by each version of the definition, and which versions requests with a conflict token were
// carried out on (check_actions.go, check_spans.go, check_changes.go); what was skipped (check_skips.go); that no schedule is closed too early (check_closed.go); that runs have events, and nothing begins that was given up (check_begun.go); what callers have asked for (check_requests.go); what runs were told, and the
// results of those before them (check_contents.go); what calendars hold, that none is deleted that a schedule uses, that schedules go by the
// newest in the end, and that nothing comes in hindsight which a calendar had left out (check_calendars.go); that a bulk operation is done to each schedule, once, and counts that (bulk.go); and by internal/audit (check_audit.go). Where nothing goes wrong, code begins
// within a second, and each message is delivered once (check_timely.go, TestWithoutFaults). That the rate of a namespace is kept, and holds
// back nothing in the other one, is told only where nothing else goes wrong (TestLimits, TestLimitsOfOneNamespace). Each check says in a comment what it leaves out, and why.
//
// # Repeating a seed
//
// A seed, with the plan that is drawn from it, always gives the same trace; TestSameSeedSameTrace sees to that. A failing
// test prints the command which repeats it:
//
//	CARILLON_SEED=1234 go test ./internal/simulation -run 'TestSeed$' -v -artifacts
//
// with CARILLON_PLAN='{"Schedules":1,…}' in front where the failure remains under a smaller plan than that of the seed. The
// whole trace is written to the test's artifacts. CARILLON_SEEDS=10000 makes TestSeeds try as many new seeds, and nothing
// else.
//
// What makes a simulation repeatable is that between two events every goroutine waits, that calls which arrive at the same
// moment are put in an order of their own, and that the world gives a process one message at a time. What can break it: two
// goroutines of one process that are woken by the same event and race; a select with several ready cases; an order of a
// map that decides what is asked first.
//
// The package may import everything; only tests may import it.
package simulation
