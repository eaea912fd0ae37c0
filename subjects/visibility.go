package subjects

import (
	"fmt"
	"strings"
)

// The verbs of requests about all executions of a namespace: see [Names.Visibility]. Request and answer are messages of Temporal:
// ListWorkflowExecutions, CountWorkflowExecutions, and the four about batch operations.
const (
	VerbListExecutions  = "list"
	VerbCountExecutions = "count"
	VerbStartBatch      = "batch-start"
	VerbStopBatch       = "batch-stop"
	VerbDescribeBatch   = "batch-describe"
	VerbListBatches     = "batch-list"
)

// Visibility is the subject of a request about the executions of a namespace that a search index answers. Frontends with an index serve it.
func (n Names) Visibility(namespace, verb string) string {
	return n.prefix + ".visibility." + namespace + "." + verb
}

// Visibilities matches all such requests.
func (n Names) Visibilities() string { return n.prefix + ".visibility.*.*" }

// ParseVisibility takes apart a subject made by Visibility.
func (n Names) ParseVisibility(subject string) (namespace, verb string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".visibility.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 2 || tokens[0] == "" || tokens[1] == "" {
		return "", "", fmt.Errorf("subjects: %q is not the subject of a request about the executions of a namespace", subject)
	}
	return tokens[0], tokens[1], nil
}
