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

// The sources of fields.
const (
	BuiltIn         Source = ""
	Memo            Source = "memo"
	SearchAttribute Source = "attr"
)

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

// BuiltIns returns the names of the built-in fields.
func BuiltIns() []string {
	names := make([]string, len(builtIns))
	for i, f := range builtIns {
		names[i] = f.name
	}
	return names
}

// Kind returns the type of a built-in field. That of other fields is a matter of each schedule: then it is empty.
func (f Field) Kind() Kind {
	if f.Source != BuiltIn {
		return ""
	}
	i := slices.IndexFunc(builtIns, func(b builtIn) bool { return b.name == f.Name })
	if i < 0 {
		return ""
	}
	return builtIns[i].kind
}

// String returns the field as a query has it.
func (f Field) String() string {
	if f.Source == BuiltIn {
		return f.Name
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
