package subjects

import (
	"fmt"
	"strconv"
	"strings"
)

// The verbs of requests to the role archival: see [Names.Archive]. Request and answer are messages of Temporal: those of
// GetWorkflowExecutionHistory, GetWorkflowExecutionHistoryReverse and ListArchivedWorkflowExecutions.
const (
	VerbArchivedHistory        = "history"
	VerbArchivedHistoryReverse = "history-reverse"
	VerbListArchived           = "list"
	// VerbVerifyArchived takes a ListArchivedWorkflowExecutions. The answer is an archive.Verified as JSON, in a google.protobuf.BytesValue.
	VerbVerifyArchived = "verify"
	// VerbListSchedules and VerbScheduleEvents take an archive.EventsRequest and answer an archive.EventsPage, each as JSON in a google.protobuf.BytesValue: of
	// which schedules there are events, and the events of one.
	VerbListSchedules  = "list-schedules"
	VerbScheduleEvents = "schedule-events"
	// VerbVerifySchedules takes an archive.EventsRequest, too, and answers as VerbVerifyArchived does.
	VerbVerifySchedules = "verify-schedules"
)

// keyArchived begins the keys of the records that say how far a namespace has been archived.
const keyArchived = "archived."

// KeyArchiver is the KV key, in the cluster bucket, of the record that says which process archives.
const KeyArchiver = "archiver"

// ArchivedKey is the KV key of how far the executions of a namespace in one shard have been archived: archived.<namespace>.<shard>.
func ArchivedKey(namespace string, shard int) string {
	return keyArchived + namespace + "." + strconv.Itoa(shard)
}

// ArchivedEventsKey is the KV key of how far the events of the schedules of a namespace have been archived: archived.<namespace>.events.
func ArchivedEventsKey(namespace string) string { return keyArchived + namespace + ".events" }

// ArchivedKeys matches the keys that ArchivedKey and ArchivedEventsKey make for a namespace, or for all if it is "*".
func ArchivedKeys(namespace string) string { return keyArchived + namespace + ".*" }

// ArchiveFolderKey is the KV key of the mark of a folder with archives: archive-folder.<path>.
func ArchiveFolderKey(path string) string { return "archive-folder." + Escape(path) }

// ArchiveBucket is the name of the bucket of JetStream's object store in which the installation archives unless a namespace names another one.
func (n Names) ArchiveBucket() string { return n.prefix + "-archive" }

// Archive is the subject of a request about the archive of a namespace. The role archival serves it.
func (n Names) Archive(namespace, verb string) string {
	return n.prefix + ".archive." + namespace + "." + verb
}

// Archives matches all such requests.
func (n Names) Archives() string { return n.prefix + ".archive.*.*" }

// ParseArchive takes apart a subject made by Archive.
func (n Names) ParseArchive(subject string) (namespace, verb string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".archive.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 2 || tokens[0] == "" || tokens[1] == "" {
		return "", "", fmt.Errorf("subjects: %q is not the subject of a request about an archive", subject)
	}
	return tokens[0], tokens[1], nil
}
