package attributes

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// metadataType is the key of the type in the metadata of a value.
const metadataType = "type"

const (
	// maxNames, maxValue and maxTotal are Temporal's limits of the search attributes of an execution: how many, and the bytes of one value and
	// of all of them.
	maxNames = 100
	maxValue = 2 << 10
	maxTotal = 40 << 10
)

// TypeOf returns the type that a value says it has, or else one that fits.
func TypeOf(payload *common.Payload) enums.IndexedValueType {
	if t := declared(payload); t != enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return t
	}
	var value any
	_ = json.Unmarshal(payload.GetData(), &value) // what is no JSON has no other type either
	switch value.(type) {
	case bool:
		return enums.INDEXED_VALUE_TYPE_BOOL
	case float64:
		return enums.INDEXED_VALUE_TYPE_DOUBLE
	case []any:
		return enums.INDEXED_VALUE_TYPE_KEYWORD_LIST
	}
	return enums.INDEXED_VALUE_TYPE_KEYWORD
}

// declared returns the type that a value says it has.
func declared(payload *common.Payload) enums.IndexedValueType {
	t, err := enums.IndexedValueTypeFromString(string(payload.GetMetadata()[metadataType]))
	if err != nil {
		return enums.INDEXED_VALUE_TYPE_UNSPECIFIED
	}
	return t
}

// Complete gives the search attributes of an execution the types that they have in its namespace, which clients expect to read from them. It reports
// attributes that an execution cannot have. added returns the types of the attributes that were added to the namespace; it is called at most once, and
// may be nil. The error is one of Temporal's, or that of added.
func Complete(all *common.SearchAttributes, added func() (map[string]enums.IndexedValueType, error)) error {
	fields := all.GetIndexedFields()
	if len(fields) > maxNames {
		return serviceerror.NewInvalidArgumentf("number of search attributes %d exceeds limit %d", len(fields), maxNames)
	}
	types, err := typesOf(names(fields), added)
	if err != nil {
		return err
	}
	total := 0
	for _, name := range names(fields) {
		kind := types[name]
		if err := check(name, fields[name], kind); err != nil {
			return err
		}
		declare(fields[name], kind)
		total += len(name) + len(fields[name].GetData())
	}
	if total > maxTotal {
		return serviceerror.NewInvalidArgumentf("total size of search attributes %d exceeds size limit %d", total, maxTotal)
	}
	return nil
}

// Describe does the same for search attributes that are stored already, and refuses none: a value that says no type gets the one of its attribute, if it
// is of that type. Everything else stays as it is. The error is that of added, which is called only if there is something to find out.
func Describe(all *common.SearchAttributes, added func() (map[string]enums.IndexedValueType, error)) error {
	fields := all.GetIndexedFields()
	untyped := slices.DeleteFunc(names(fields), func(name string) bool {
		return fields[name] == nil || declared(fields[name]) != enums.INDEXED_VALUE_TYPE_UNSPECIFIED
	})
	types, err := typesOf(untyped, added)
	if err != nil {
		return err
	}
	for _, name := range untyped {
		if kind := types[name]; fits(fields[name], kind) {
			declare(fields[name], kind)
		}
	}
	return nil
}

// typesOf returns the types of attributes, by their names. added says those of the attributes that were added to the namespace.
func typesOf(names []string, added func() (map[string]enums.IndexedValueType, error)) (types map[string]enums.IndexedValueType, err error) {
	types = map[string]enums.IndexedValueType{}
	if added != nil && slices.ContainsFunc(names, isOwn) {
		own, err := added()
		if err != nil {
			return nil, err
		}
		maps.Copy(types, own)
	}
	for _, name := range names {
		if kind, ok := Predefined(name); ok {
			types[name] = kind
		}
	}
	return types, nil
}

// declare lets a value say that it has a type, if that is one.
func declare(payload *common.Payload, kind enums.IndexedValueType) {
	if payload == nil || kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return
	}
	if payload.Metadata == nil {
		payload.Metadata = map[string][]byte{}
	}
	payload.Metadata[metadataType] = []byte(kind.String())
}

// names returns the names in order, so that the error does not depend on chance.
func names(fields map[string]*common.Payload) []string {
	all := make([]string, 0, len(fields))
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// isOwn reports whether an attribute may have been added to the namespace.
func isOwn(name string) bool {
	_, isPredefined := Predefined(name)
	return !isPredefined
}

// check reports a value that an attribute cannot have. The type is unspecified if the name has none.
func check(name string, payload *common.Payload, kind enums.IndexedValueType) error {
	_, isBuiltIn := builtIn[name]
	_, isInternal := internal[name]
	switch {
	case isBuiltIn, isInternal, reserved[name]:
		return serviceerror.NewInvalidArgumentf("%s attribute can't be set in SearchAttributes", name)
	case len(payload.GetData()) > maxValue:
		return serviceerror.NewInvalidArgumentf("search attribute %s value size %d exceeds size limit %d", name, len(payload.GetData()), maxValue)
	}
	if kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
		kind = declared(payload)
	}
	if !fits(payload, kind) {
		return serviceerror.NewInvalidArgumentf("invalid value for search attribute %s of type %s: %s", name, kind, payload.GetData())
	}
	return nil
}

// fits reports whether a value is of a type. No value fits every type: it unsets the attribute. A list fits if all its elements do.
func fits(payload *common.Payload, kind enums.IndexedValueType) bool {
	if kind == enums.INDEXED_VALUE_TYPE_UNSPECIFIED || len(payload.GetData()) == 0 {
		return true
	}
	var value any
	if json.Unmarshal(payload.GetData(), &value) != nil {
		return false
	}
	list, isList := value.([]any)
	if !isList {
		return value == nil || isOf(value, payload.GetData(), kind)
	}
	var each []json.RawMessage
	_ = json.Unmarshal(payload.GetData(), &each) // it is a list
	for i := range list {
		if !isOf(list[i], each[i], kind) {
			return false
		}
	}
	return true
}

// isOf reports whether one value, which data encodes, is of a type.
func isOf(value any, data []byte, kind enums.IndexedValueType) bool {
	switch value := value.(type) {
	case string:
		switch kind {
		case enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, enums.INDEXED_VALUE_TYPE_TEXT:
			return true
		case enums.INDEXED_VALUE_TYPE_DATETIME:
			_, err := time.Parse(time.RFC3339, value)
			return err == nil
		}
	case bool:
		return kind == enums.INDEXED_VALUE_TYPE_BOOL
	case float64:
		var whole int64
		return kind == enums.INDEXED_VALUE_TYPE_DOUBLE || kind == enums.INDEXED_VALUE_TYPE_INT && json.Unmarshal(data, &whole) == nil
	}
	return false
}
