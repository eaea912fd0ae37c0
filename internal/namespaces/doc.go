// Package namespaces knows the namespaces of a cluster: how their records are stored ([Records]), and what all of them say
// at present ([Table]), for whoever must know that for each schedule it looks at.
//
// A record is a schedule.Namespace as JSON, under the key "namespace.<name>" of the cluster bucket. Only frontends write it.
// It may be imported by the pools and the frontend.
//
// The package may import kv, schedule and subjects.
package namespaces
