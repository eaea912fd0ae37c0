// Package chaos runs a real installation under real faults and checks the result. The installation has three NATS nodes and two
// processes of each role, all of them processes of this program. They are killed, suspended and cut off from each other while
// schedules of every overlap policy fire and callers change them, and while workflows of Temporal's SDK run and are signaled. At the
// end, the workers' notes about every run and the event history are compared with what the specs of the schedules ask for, and the
// histories of the workflows with what was acknowledged.
//
// A seed decides what happens when, and to whom ([newPlan], [newWorkload]); [check] judges the result. Both are pure. [Run] is
// the shell around them: processes, a proxy between the nodes, the clock.
//
// The package may import client, execution, worker, schedule, specproc, subjects and internal packages. Only the command line imports it.
package chaos
