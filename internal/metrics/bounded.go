package metrics

import (
	"slices"
	"sync"
)

// The bounds of what clients choose: anybody who may make a schedule may name a task queue that nobody has heard of.
const (
	// QueuesOfNamespace is how many task queues of a namespace have series of their own. The others share those of [OtherQueues].
	QueuesOfNamespace = 100
	// Queues is the same for all namespaces of a process together.
	Queues = 1000
	// OtherQueues stands for the task queues, and consumers, that have no series of their own.
	OtherQueues = "(other)"
)

// names are the task queues that have series of their own: the first that a process has met. They keep them as long as it lives, and no
// other gets one: what has come to a series goes from it, too.
type names struct {
	mu    sync.Mutex
	total int
	known map[string]map[string]struct{} // by namespace
}

var queueNames = &names{known: map[string]map[string]struct{}{}}

// of returns what a task queue is called in metrics.
func (n *names) of(namespace, queue string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.known[namespace]
	if _, is := known[queue]; is {
		return queue
	}
	if n.total >= Queues || len(known) >= QueuesOfNamespace {
		return OtherQueues
	}
	if known == nil {
		known = map[string]struct{}{}
		n.known[namespace] = known
	}
	known[queue] = struct{}{}
	n.total++
	return queue
}

// bounded replaces what clients have chosen and there is no room for.
func bounded(attributes []Attribute, key values) values {
	queue := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == aQueue.Name })
	namespace := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == aNamespace.Name })
	if queue >= 0 && namespace >= 0 {
		key[queue] = queueNames.of(key[namespace], key[queue])
	}
	return key
}

// QueuesShown returns how many task queues of a namespace may have names of their own among what a process observes of so many
// namespaces. All processes that see the same namespaces come to the same number.
func QueuesShown(namespaces int) int {
	return min(QueuesOfNamespace, max(1, Queues/max(1, namespaces)))
}
