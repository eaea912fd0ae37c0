package subjects

import (
	"fmt"
	"strings"
)

// The things that the API is about. Each has verbs of its own.
const (
	ThingSchedule  = "schedule"
	ThingNamespace = "namespace"
	ThingCalendar  = "calendar"
	ThingBulk      = "bulk"
	// ThingWorkflow is everything that Temporal's clients do through a gateway. Its verbs are rights, such as [RightRead].
	ThingWorkflow = "workflow"
)

// The rights of Temporal's clients. Whoever may publish on API(namespace, ThingWorkflow, right) has the right in that namespace, and in the
// whole installation if the namespace is [NoNamespace]. Only gateways listen on these subjects. They never answer, and no message there
// does anything.
const (
	// RightRead is for looking: at executions, schedules and task queues.
	RightRead = "read"
	// RightWrite is for starting, signalling and ending executions, and for changing schedules.
	RightWrite = "write"
	// RightWork is for workers: to take tasks and to report on them.
	RightWork = "work"
	// RightAdmin is for changing the namespace itself, its search attributes and the rules of its workers.
	RightAdmin = "admin"
)

// NoNamespace is the namespace token of an API request that is about no single namespace, such as one that lists all of them. No
// namespace has this name.
const NoNamespace = "_"

// API is the subject of one request to the frontend about a thing, such as "create" for [ThingSchedule]. Namespace "*" matches
// every namespace.
func (n Names) API(namespace, thing, verb string) string {
	return n.prefix + ".api." + namespace + "." + thing + "." + verb
}

// IsOwn reports whether a subject belongs to the installation or to the NATS server.
func (n Names) IsOwn(subject string) bool {
	return strings.HasPrefix(subject, n.prefix+".") || strings.HasPrefix(subject, "$")
}

// NamespaceOfAPI returns the namespace token of an API subject.
func (n Names) NamespaceOfAPI(subject string) (string, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".api.")
	namespace, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return "", fmt.Errorf("subjects: %q is not an API subject", subject)
	}
	return namespace, nil
}

// FrontendBeat is the subject on which frontends tell each other that they exist. Nothing on it is stored.
func (n Names) FrontendBeat() string { return n.prefix + ".frontend.beat" }

// Processes is the subject on which each process of the installation is asked to describe itself. Nothing on it is stored.
func (n Names) Processes() string { return n.prefix + ".processes" }
