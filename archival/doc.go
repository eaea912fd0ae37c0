// Package archival is the role that archives: it writes the closed executions of the namespaces that ask for it into a bucket, before history removes
// them, and reads them there for those who ask.
//
// One process of the role works at a time: it holds a record in the cluster bucket and renews it. For each namespace and shard it reads the journal
// stream in order, and does this with each page:
//
//  1. The core ([plan]) says which runs have ended in it and are not archived.
//  2. Each of them is read from history, written to the bucket, and read back: first its history, then its entry (internal/archive).
//  3. The core ([after]) says how far the namespace is archived then. That is stored, by compare-and-set (internal/archive/progress).
//
// History removes a run only if the stored progress says that it is safe. So a crash between any two steps repeats work and loses nothing: names and
// contents follow from the execution alone.
//
// It also reads the events of the schedules of the namespace, part by part, and archives them before their stream removes them ([eventFollow]).
//
// If the bucket does not take an object, nothing behind it is tried, and the page comes again after a pause. A run that cannot be read for a reason of
// its own is left behind and tried again every minute. It stays where it is until it is archived.
//
// Each namespace has its own rounds ([rounds]), and what is asked of a bucket has a time limit ([buckets]). So a bucket that hangs keeps no other namespace waiting.
//
// All processes of the role answer requests about archives. Only they need the credentials of a bucket.
//
// The role does nothing while no namespace asks for an archive. It may import execution, kv, schedule, subjects, internal/archive,
// internal/archive/progress, internal/bus, internal/call, internal/eventpage, internal/flood, internal/journal, internal/metrics, internal/namespaces,
// internal/search/query, internal/sleep and internal/workflows. It must never remove anything, nor import another pool.
package archival
