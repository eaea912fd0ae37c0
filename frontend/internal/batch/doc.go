// Package batch serves Temporal's batch operations: the requests about them, and the background jobs that do to many executions of workflows
// what a request does to one ([Service]). Requests and answers are Temporal's messages, which gateways send.
//
// A batch operation is a job of internal/jobs. Its ID follows from the ID that the client has chosen, so a repeated start finds the job that it
// began. The items of a job are runs. They are walked in the order of their run IDs, which never change, so the job needs no list of them: a
// process that continues it goes on after the last one.
//
// With a query, an execution is part of the job if it was there at the start, still runs and matches when its turn comes. A reset and a
// deletion are for those that have ended, too. Whoever wants exactly certain executions names them.
//
// An item may be done twice, if a process dies before it could write that it is done. That does no harm: a signal has a request ID that follows
// from the job and the item, and so has a reset; to ask again for a cancellation changes nothing; a run that is terminated does not run any more.
// Only a reset of activities counts: attempts that fail between the two are forgotten as well.
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/listing, frontend/internal/request,
// schedule, internal/jobs, internal/search, internal/search/query and internal/workflows. It must never read a journal, nor decide what an
// operation means for an execution: history does.
package batch
