package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxToken is how long a token is at most. File systems have names of at most 255 bytes, and an entry has one token in its name.
	maxToken = 100
	// tokenDigest is how many bytes of the digest are in the token of a long text.
	tokenDigest = 12

	extension  = ".json"
	dayFormat  = time.DateOnly
	timeFormat = "20060102T150405.000000000"
)

// Token is a text as a part of the name of an object: letters, digits, '-' and '_' stay, other bytes are escaped as package subjects does. Of a longer
// text, the token is the beginning and a digest. An empty text is "=".
func Token(text string) string {
	token := subjects.Escape(text)
	switch {
	case token == "":
		return "="
	case len(token) <= maxToken:
		return token
	}
	digest := sha256.Sum256([]byte(text))
	return token[:maxToken-1-2*tokenDigest] + "=" + hex.EncodeToString(digest[:tokenDigest])
}

// HistoryName is the name of the object with the history of a run.
func HistoryName(namespace, workflowID, runID string) string {
	return HistoriesPrefix(namespace, workflowID) + Token(runID) + extension
}

// RunOfHistory returns the token of the run ID from the name of a history that begins with a prefix made by HistoriesPrefix. It reports false for any
// other name.
func RunOfHistory(prefix, object string) (token string, ok bool) {
	name, isBelow := strings.CutPrefix(object, prefix)
	token, isJSON := strings.CutSuffix(name, extension)
	return token, isBelow && isJSON
}

// HistoriesPrefix begins the names of the histories of all runs of a workflow ID.
func HistoriesPrefix(namespace, workflowID string) string {
	return namespace + "/histories/" + Token(workflowID) + "/"
}

// EntryName says which run an entry is about. It is in the name of the entry, except that IDs and type are tokens there.
type EntryName struct {
	Namespace, Type, WorkflowID, RunID string
	// End is when the run ended.
	End time.Time
}

// Object is the name of the object with the entry.
func (n EntryName) Object() string {
	return DayPrefix(n.Namespace, DayOf(n.End), Token(n.Type)) + n.End.UTC().Format(timeFormat) + "Z_" + Token(n.WorkflowID) + "_" + Token(n.RunID) + extension
}

// ParseEntryName takes apart the name of an entry. The type and the IDs of the result are tokens. It reports false for any other name: a bucket may
// have objects of others.
func ParseEntryName(object string) (n EntryName, ok bool) {
	parts := strings.Split(object, "/")
	if len(parts) != 5 || parts[1] != "executions" {
		return n, false
	}
	name, isJSON := strings.CutSuffix(parts[4], extension)
	end, ids, hasIDs := strings.Cut(name, "Z_")
	last := strings.LastIndexByte(ids, '_')
	at, err := time.Parse(timeFormat, end)
	if !isJSON || !hasIDs || last < 0 || err != nil || at.Format(dayFormat) != parts[2] {
		return n, false
	}
	return EntryName{Namespace: parts[0], Type: parts[3], WorkflowID: ids[:last], RunID: ids[last+1:], End: at}, true
}

// daysPrefix begins the names of all entries of a namespace.
func daysPrefix(namespace string) string { return namespace + "/executions/" }

// DayPrefix begins the names of the entries of a day, such as 2026-11-28, in UTC: those of the workflow type with a token, unless it is empty.
func DayPrefix(namespace, day, typeToken string) string {
	prefix := daysPrefix(namespace) + day + "/"
	if typeToken == "" {
		return prefix
	}
	return prefix + typeToken + "/"
}

// DayOf returns the day of the entries of runs that ended at a time, such as 2026-11-28: that of UTC.
func DayOf(at time.Time) string { return at.UTC().Format(dayFormat) }

// ParseDay checks a day, such as 2026-11-28.
func ParseDay(text string) (time.Time, error) {
	day, err := time.Parse(dayFormat, text)
	if err != nil {
		return day, fmt.Errorf("archive: %q is not a day such as 2026-11-28", text)
	}
	return day, nil
}
