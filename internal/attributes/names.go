package attributes

import (
	"maps"
	"regexp"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// Record is the stored record of the search attributes that were added to a namespace.
type Record struct {
	// Types are their types, by their names.
	Types map[string]enums.IndexedValueType `json:"types"`
}

// reservedPrefix begins the names that only the service and SDKs give.
const reservedPrefix = "Temporal"

// builtIn are the attributes that every execution has. Nobody sets them.
var builtIn = map[string]enums.IndexedValueType{
	"WorkflowId":           enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RunId":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WorkflowType":         enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TaskQueue":            enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ExecutionStatus":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"StartTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionTime":        enums.INDEXED_VALUE_TYPE_DATETIME,
	"CloseTime":            enums.INDEXED_VALUE_TYPE_DATETIME,
	"ExecutionDuration":    enums.INDEXED_VALUE_TYPE_INT,
	"HistoryLength":        enums.INDEXED_VALUE_TYPE_INT,
	"HistorySizeBytes":     enums.INDEXED_VALUE_TYPE_INT,
	"StateTransitionCount": enums.INDEXED_VALUE_TYPE_INT,
	"ParentWorkflowId":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"ParentRunId":          enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootWorkflowId":       enums.INDEXED_VALUE_TYPE_KEYWORD,
	"RootRunId":            enums.INDEXED_VALUE_TYPE_KEYWORD,
}

// predefined are the attributes that SDKs, clients and the service set for some executions.
var predefined = map[string]enums.IndexedValueType{
	"BatcherNamespace":           enums.INDEXED_VALUE_TYPE_KEYWORD,
	"BatcherUser":                enums.INDEXED_VALUE_TYPE_KEYWORD,
	"BinaryChecksums":            enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"BuildIds":                   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalChangeVersion":      enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalNamespaceDivision":  enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalPauseInfo":          enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalReportedProblems":   enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalScheduledById":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalScheduledStartTime": enums.INDEXED_VALUE_TYPE_DATETIME,
	"TemporalSchedulePaused":     enums.INDEXED_VALUE_TYPE_BOOL,
}

// internal are the attributes that only the service may set.
var internal = map[string]enums.IndexedValueType{
	"TemporalExternalPayloadCount":         enums.INDEXED_VALUE_TYPE_INT,
	"TemporalExternalPayloadSizeBytes":     enums.INDEXED_VALUE_TYPE_INT,
	"TemporalUsedWorkerDeploymentVersions": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	"TemporalWorkerDeployment":             enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalWorkerDeploymentVersion":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TemporalWorkflowVersioningBehavior":   enums.INDEXED_VALUE_TYPE_KEYWORD,
}

// reserved are names of the service that are no attributes.
var reserved = map[string]bool{"NamespaceId": true, "Memo": true, "MemoEncoding": true, "VisibilityTaskKey": true}

// All returns the attributes of every namespace and their types: those that every execution has, and those that some have.
func All() map[string]enums.IndexedValueType {
	all := maps.Clone(builtIn)
	maps.Copy(all, predefined)
	maps.Copy(all, internal)
	return all
}

// Predefined returns the type of an attribute that every namespace has but not every execution. ok is false for any other name.
func Predefined(name string) (kind enums.IndexedValueType, ok bool) {
	if kind, ok = predefined[name]; !ok {
		kind, ok = internal[name]
	}
	return kind, ok
}

// Alias returns the name that a name without or with a superfluous prefix Temporal stands for, as ScheduledById for TemporalScheduledById.
// ScheduleId stands for WorkflowId. ok is false if it stands for nothing.
func Alias(name string) (full string, ok bool) {
	short := strings.TrimPrefix(name, reservedPrefix)
	if short == "ScheduleId" {
		return "WorkflowId", true
	}
	full = reservedPrefix + name
	if short != name {
		full = short
	}
	_, isBuiltIn := builtIn[full]
	_, isPredefined := Predefined(full)
	return full, isBuiltIn || isPredefined
}

// valid is what an attribute may be called, so that it can stand in a query.
var valid = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

// CheckNew reports a name or a type with which no attribute can be added to a namespace. The error is one of Temporal's.
func CheckNew(name string, kind enums.IndexedValueType) error {
	_, isBuiltIn := builtIn[name]
	_, isPredefined := Predefined(name)
	_, isKind := enums.IndexedValueType_name[int32(kind)]
	switch {
	case isBuiltIn, isPredefined, reserved[name], strings.HasPrefix(name, reservedPrefix):
		return serviceerror.NewInvalidArgumentf("Search attribute %s is reserved by system.", name)
	case !valid.MatchString(name):
		return serviceerror.NewInvalidArgument("the name of a search attribute has letters, digits, - and _, and begins with a letter")
	case !isKind || kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED:
		return serviceerror.NewInvalidArgumentf("Unknown type of search attribute %s.", name)
	}
	return nil
}
