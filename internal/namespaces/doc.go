// Package namespaces knows the namespaces of a cluster: how their records are stored ([Records]), and their current contents
// ([Table]), for code that needs them for every schedule it handles.
//
// A record is a schedule.Namespace as JSON, under the key "namespace.<name>" of the cluster bucket. Only frontends write it. It
// may be imported by the pools and the frontend.
//
// The package may import kv, schedule and subjects.
package namespaces
