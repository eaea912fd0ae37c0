// Package visibility answers requests about all executions of a namespace from the search index of this process: lists, counts, and which
// search attributes there are. Those about batch operations it passes on to frontend/internal/batch. The gateway sends them by internal/call; requests and answers are Temporal's messages.
//
// A list or count that follows an acknowledged change shows it: it waits, for two seconds at most, until the index has what the leaders of
// the journals have.
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/batch, subjects, schedule, internal/bus, internal/call, internal/codec,
// internal/search, internal/search/query and internal/site. It must never read a journal, nor decide what a query means.
package visibility
