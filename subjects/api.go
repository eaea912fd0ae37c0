package subjects

import (
	"fmt"
	"strings"
)

// The things that the API is about; each has verbs of its own.
const (
	ThingSchedule  = "schedule"
	ThingNamespace = "namespace"
	ThingCalendar  = "calendar"
	ThingBulk      = "bulk"
)

// NoNamespace stands in an API subject where a request is about no namespace, as that for all of them. No namespace has
// this name.
const NoNamespace = "_"

// API is the subject of one request to the frontend about a thing, such as "create" about [ThingSchedule]; namespace "*"
// matches every namespace.
func (n Names) API(namespace, thing, verb string) string {
	return n.prefix + ".api." + namespace + "." + thing + "." + verb
}

// IsOwn reports whether a subject is one of the installation, or of the NATS server.
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

// FrontendBeat is the subject on which frontends tell each other that they are there. Nothing of it is stored.
func (n Names) FrontendBeat() string { return n.prefix + ".frontend.beat" }

// Processes is the subject on which each process of the installation is asked what it is. Nothing of it is stored.
func (n Names) Processes() string { return n.prefix + ".processes" }
