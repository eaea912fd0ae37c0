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
	hourFormat = "15"
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

// TextOf returns the text of a token. Of a long text, the token does not have all: then TextOf returns the token, and false.
func TextOf(token string) (text string, whole bool) {
	if token == "=" {
		return "", true
	}
	text, err := subjects.Unescape(token)
	if err != nil || len(token) == maxToken && token[maxToken-1-2*tokenDigest] == '=' {
		return token, false
	}
	return text, true
}

// historyName is the name of the object with the history of a run that ended at a time.
func historyName(namespace, workflowID, runID string, end time.Time) string {
	return historyPrefix(namespace, workflowID, runID) + end.UTC().Format(timeFormat) + "Z" + extension
}

// parseHistoryName returns the token of the run ID and the time of its end from the name of a history that begins with a prefix made by historiesPrefix. It
// reports false for any other name.
func parseHistoryName(prefix, object string) (run string, end time.Time, ok bool) {
	name, isBelow := strings.CutPrefix(object, prefix)
	name, isJSON := strings.CutSuffix(name, "Z"+extension)
	last := strings.LastIndexByte(name, '_')
	if !isBelow || !isJSON || last < 0 {
		return "", end, false
	}
	end, err := time.Parse(timeFormat, name[last+1:])
	return name[:last], end, err == nil
}

// historiesPrefix begins the names of the histories of all runs of a workflow ID.
func historiesPrefix(namespace, workflowID string) string {
	return namespace + "/histories/" + Token(workflowID) + "/"
}

// historyPrefix begins the name of the history of a run, and perhaps those of others.
func historyPrefix(namespace, workflowID, runID string) string {
	return historiesPrefix(namespace, workflowID) + Token(runID) + "_"
}

// EntryName says which run an entry is about. It is in the name of the entry, except that IDs and type are tokens there.
type EntryName struct {
	Namespace, Type, WorkflowID, RunID string
	// End is when the run ended.
	End time.Time
}

// Object is the name of the object with the entry.
func (n EntryName) Object() string {
	at := n.End.UTC()
	return EntriesPrefix(n.Namespace, DayOf(at), Token(n.Type), at.Format(hourFormat)) +
		at.Format(timeFormat) + "Z_" + Token(n.WorkflowID) + "_" + Token(n.RunID) + extension
}

// shelves are the names of the empty objects that say which days, types and hours have entries, for one with this name. Stores that list only by prefix would
// have to read the names of all entries for that.
func (n EntryName) shelves() []string {
	day, of, hour := DayOf(n.End), Token(n.Type), n.End.UTC().Format(hourFormat)
	return []string{
		daysPrefix(n.Namespace) + day + extension, typesPrefix(n.Namespace, day) + of + extension, hoursPrefix(n.Namespace, day, of) + hour + extension,
	}
}

// ParseEntryName takes apart the name of an entry. The type and the IDs of the result are tokens. It reports false for any other name: a bucket may
// have objects of others.
func ParseEntryName(object string) (n EntryName, ok bool) {
	parts := strings.Split(object, "/")
	if len(parts) != 6 || parts[1] != "executions" {
		return n, false
	}
	name, isJSON := strings.CutSuffix(parts[5], extension)
	end, ids, hasIDs := strings.Cut(name, "Z_")
	last := strings.LastIndexByte(ids, '_')
	at, err := time.Parse(timeFormat, end)
	if !isJSON || !hasIDs || last < 0 || err != nil || at.Format(dayFormat) != parts[2] || at.Format(hourFormat) != parts[4] {
		return n, false
	}
	return EntryName{Namespace: parts[0], Type: parts[3], WorkflowID: ids[:last], RunID: ids[last+1:], End: at}, true
}

// EntriesPrefix begins the names of the entries of an hour of a day, such as 10 and 2026-11-28, in UTC, and of the workflow type with a token.
func EntriesPrefix(namespace, day, typeToken, hour string) string {
	return namespace + "/executions/" + day + "/" + typeToken + "/" + hour + "/"
}

// daysPrefix begins the names that say of which days a namespace has entries.
func daysPrefix(namespace string) string { return namespace + "/days/" }

// typesPrefix begins the names that say of which types a namespace has entries on a day.
func typesPrefix(namespace, day string) string { return namespace + "/types/" + day + "/" }

// hoursPrefix begins the names that say of which hours a namespace has entries on a day, of a type.
func hoursPrefix(namespace, day, typeToken string) string {
	return namespace + "/hours/" + day + "/" + typeToken + "/"
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
