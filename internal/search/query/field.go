package query

import (
	"slices"
	"strings"
)

// Field is what a query asks about: a built-in field, or an entry of the memo or of the search attributes.
type Field struct {
	// Source says where the value comes from.
	Source Source
	// Name is the name within that.
	Name string
}

// Source is where the value of a field comes from.
type Source string

// The sources of fields. Execution and Custom belong to executions, Worker to workers, the others to schedules.
const (
	BuiltIn         Source = ""
	Memo            Source = "memo"
	SearchAttribute Source = "attr"
	// ScheduleMemo and ScheduleAttribute are those of a schedule itself, Memo and SearchAttribute those of its action.
	ScheduleMemo      Source = "scheduleMemo"
	ScheduleAttribute Source = "scheduleAttr"
	// Execution is what every execution has.
	Execution Source = "execution"
	// Custom is a search attribute of an execution.
	Custom Source = "custom"
	// Worker is what every worker has.
	Worker Source = "worker"
)

// sources are those that a query about schedules names.
var sources = []Source{Memo, SearchAttribute, ScheduleMemo, ScheduleAttribute}

// The built-in fields.
const (
	ID         = "id"
	Paused     = "paused"
	Type       = "type"
	TaskQueue  = "taskQueue"
	WorkflowID = "workflowId"
	NextTime   = "nextTime"
	LastStatus = "lastStatus"
	LastTime   = "lastTime"
	Running    = "running"
	Waiting    = "waiting"
	CreateTime = "createTime"
	UpdateTime = "updateTime"
	Notes      = "notes"
)

type builtIn struct {
	name string
	kind Kind
}

// builtIns are the built-in fields and their types, in the order in which errors list them.
var builtIns = []builtIn{
	{ID, Text}, {Paused, Boolean}, {Type, Text}, {TaskQueue, Text}, {WorkflowID, Text}, {NextTime, Time},
	{LastStatus, Text}, {LastTime, Time}, {Running, Int}, {Waiting, Int}, {CreateTime, Time}, {UpdateTime, Time},
	{Notes, Text},
}

// BuiltIns returns the names of the built-in fields of schedules.
func BuiltIns() []string { return namesOf(builtIns) }

func namesOf(fields []builtIn) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// Kind returns the type of a built-in field. That of other fields is a matter of each schedule or execution: then it is empty.
func (f Field) Kind() Kind {
	var of []builtIn
	switch f.Source {
	case BuiltIn:
		of = builtIns
	case Execution:
		of = executionFields
	case Worker:
		of = workerFields
	case Memo, SearchAttribute, ScheduleMemo, ScheduleAttribute, Custom:
	}
	i := slices.IndexFunc(of, func(b builtIn) bool { return b.name == f.Name })
	if i < 0 {
		return ""
	}
	return of[i].kind
}

// String returns the field as a query has it.
func (f Field) String() string {
	switch f.Source {
	case BuiltIn, Execution, Worker:
		return f.Name
	case Custom:
		return backquote(f.Name)
	case Memo, SearchAttribute, ScheduleMemo, ScheduleAttribute:
	}
	for i := range len(f.Name) {
		if !isNameByte(f.Name[i]) {
			return string(f.Source) + "." + quote(f.Name)
		}
	}
	if f.Name == "" || strings.HasPrefix(f.Name, ".") || strings.HasSuffix(f.Name, ".") {
		return string(f.Source) + "." + quote(f.Name)
	}
	return string(f.Source) + "." + f.Name
}

// quote returns a text as a query has it.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
