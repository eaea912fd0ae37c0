package subjects

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// The priorities of the tasks of a queue: those with FirstPriority go before all others.
const (
	FirstPriority   = 1
	DefaultPriority = 3
	LastPriority    = 5
)

// PriorityOf returns the priority of a task whose workflow or activity has a priority key of Temporal: DefaultPriority for the key 0, and the nearest
// priority for a key that is none.
func PriorityOf(key int32) int {
	if key == 0 {
		return DefaultPriority
	}
	return int(min(max(key, FirstPriority), LastPriority))
}

// BacklogAt is the subject on which the tasks of a queue are stored that have a priority: for DefaultPriority, [Names.Backlog].
func (n Names) BacklogAt(q Queue, priority int) string {
	if priority == DefaultPriority {
		return n.Backlog(q)
	}
	return n.Backlog(q) + "." + strconv.Itoa(priority)
}

// OtherBacklogs matches the tasks of a queue that have any other priority than DefaultPriority.
func (n Names) OtherBacklogs(q Queue) string { return n.Backlog(q) + ".*" }

// ParseBacklog returns the queue and the priority of a subject made by [Names.Backlog] or [Names.BacklogAt]. An error means that the subject is neither.
func (n Names) ParseBacklog(subject string) (Queue, int, error) {
	priority, of := DefaultPriority, subject
	if strings.Count(subject, ".") > strings.Count(n.prefix, ".")+4 {
		end := strings.LastIndexByte(subject, '.')
		of = subject[:end]
		priority, _ = strconv.Atoi(subject[end+1:])
	}
	q, err := n.ParseQueue(of)
	if err == nil && (priority < FirstPriority || priority > LastPriority || n.BacklogAt(q, priority) != subject) {
		err = fmt.Errorf("subjects: %q is not of a backlog", subject)
	}
	return q, priority, err
}

// BacklogConsumerAt is [Names.BacklogConsumer] for the tasks of a queue that have a priority.
func (n Names) BacklogConsumerAt(q Queue, priority int) jetstream.ConsumerConfig {
	config := n.BacklogConsumer(q)
	if priority != DefaultPriority {
		config.Durable = consumerName("backlog-"+strconv.Itoa(priority)+"_"+q.Namespace+"_"+string(q.Kind)+"_", q.Name)
		config.FilterSubject = n.BacklogAt(q, priority)
	}
	return config
}
