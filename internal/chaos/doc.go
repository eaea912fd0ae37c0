// Package chaos runs a real installation under real faults and checks what came of it: three NATS nodes and two processes
// of each role, all of them processes of this program, which are killed, suspended and cut off from each other while
// schedules of every overlap policy fire and people change them. At the end, what the workers noted of every run and the
// event history are compared with what the specs of the schedules ask for.
//
// What happens when, and to whom, follows from a seed ([newPlan], [newWorkload]); what came of it is judged by [check].
// Both are pure. [Run] is the shell around them: processes, a proxy between the nodes, the clock.
//
// The package may import client, worker, schedule, specproc, subjects and internal packages. Only the command line
// imports it.
package chaos
