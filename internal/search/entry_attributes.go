package search

import (
	"encoding/json"
	"strings"
	"unicode"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// attributes writes the search attributes of a run.
func (w *entryWriter) attributes(r *run) error {
	exec := func(args ...any) error {
		_, err := w.tx.StmtContext(w.ctx, w.put.putExecutionAttribute).ExecContext(w.ctx, args...)
		return err
	}
	if _, err := w.tx.StmtContext(w.ctx, w.put.noExecutionAttributes).ExecContext(w.ctx, r.number); err != nil {
		return err
	}
	for name, payload := range r.info.GetSearchAttributes().GetIndexedFields() {
		values, present := valuesOf(payload)
		if !present {
			continue
		}
		if err := w.know(r.namespace, name, payload); err != nil {
			return err
		}
		if len(values) == 0 {
			if err := exec(r.number, string(query.Custom), name, "", ""); err != nil {
				return err
			}
		}
		for _, v := range values {
			if err := exec(r.number, string(query.Custom), name, classOf(v), sqlValue(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// know notes that there is a search attribute. Its type is that which it had first.
func (w *entryWriter) know(namespace, name string, payload *common.Payload) error {
	if w.types[[2]string{namespace, name}] {
		return nil
	}
	_, err := w.tx.StmtContext(w.ctx, w.put.putAttributeType).ExecContext(w.ctx, namespace, name, int64(typeOf(payload)))
	if err == nil {
		w.types[[2]string{namespace, name}] = true
	}
	return err
}

// typeOf returns the type that a payload says it has, or else one that fits.
func typeOf(payload *common.Payload) enums.IndexedValueType {
	if t, err := enums.IndexedValueTypeFromString(string(payload.GetMetadata()["type"])); err == nil && t != 0 {
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

// valuesOf returns the values of a search attribute, and whether there is one at all. A text has its words as values too.
func valuesOf(payload *common.Payload) (values []query.Value, present bool) {
	values, present = query.ValuesOf(payload.GetData())
	if typeOf(payload) != enums.INDEXED_VALUE_TYPE_TEXT {
		return values, present
	}
	for _, v := range values {
		if v.Kind != query.Text {
			continue
		}
		for _, word := range strings.FieldsFunc(v.Text, isBetweenWords) {
			values = append(values, query.TextOf(word))
		}
	}
	return values, present
}

func isBetweenWords(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
