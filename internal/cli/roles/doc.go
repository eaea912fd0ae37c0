// Package roles runs the roles of Carillon in this process: it connects to NATS, makes the cluster ready, builds the
// pools, and starts and stops them in order.
//
// [Connect] returns a connection that never gives up, so that a role may start before NATS does and outlive its
// restarts. [Open] makes the cluster ready and has a constructor for each role. [Supervise] runs roles in stages, those
// that make work before those that finish it, until the context ends or one role does.
//
// The package wires what others make; it holds no decision about schedules.
package roles
