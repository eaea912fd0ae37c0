package metrics

import (
	"slices"
	"sync"
)

// The bounds of what clients choose: whoever may create a schedule may name a task queue that nobody has heard of.
const (
	// QueuesOfNamespace is how many task queues of a namespace have series of their own. The others share the series of
	// [OtherQueues].
	QueuesOfNamespace = 100
	// Queues is the same for all namespaces of a process together.
	Queues = 1000
	// OtherQueues stands for the task queues, and consumers, that have no series of their own.
	OtherQueues = "(other)"
)

// names has the task queues with series of their own: the first ones that a process has met. They keep them as long as the
// process lives, and no other queue gets one, because what has been added to a series must also be subtracted from it.
type names struct {
	mu    sync.Mutex
	total int
	known map[string]map[string]struct{} // by namespace
}

var queueNames = &names{known: map[string]map[string]struct{}{}}

// of returns the name of a task queue in metrics.
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

// bounded replaces names that clients have chosen and that there is no room for.
func bounded(attributes []Attribute, key values) values {
	queue := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == aQueue.Name })
	namespace := slices.IndexFunc(attributes, func(a Attribute) bool { return a.Name == aNamespace.Name })
	if queue >= 0 && namespace >= 0 {
		key[queue] = queueNames.of(key[namespace], key[queue])
	}
	return key
}

// QueuesShown returns how many task queues of each namespace may have names of their own if a process observes this many
// namespaces. All processes that see the same namespaces get the same number.
func QueuesShown(namespaces int) int {
	return min(QueuesOfNamespace, max(1, Queues/max(1, namespaces)))
}
