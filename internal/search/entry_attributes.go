package search

import (
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/attributes"
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
			if err := exec(r.number, name, "", "", r.namespace); err != nil {
				return err
			}
		}
		for _, v := range values {
			if err := exec(r.number, name, classOf(v), sqlValue(v), r.namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// know notes that there is a search attribute. Its type is that of its first value.
func (w *entryWriter) know(namespace, name string, payload *common.Payload) error {
	if w.seen[[2]string{namespace, name}] {
		return nil
	}
	_, err := w.tx.StmtContext(w.ctx, w.put.putAttributeType).ExecContext(w.ctx, namespace, name, int64(attributes.TypeOf(payload)))
	if err == nil {
		w.seen[[2]string{namespace, name}] = true
	}
	return err
}

// valuesOf returns the values of a search attribute, and whether there is one at all. A text has its words as values too, as they are and in small
// letters.
func valuesOf(payload *common.Payload) (values []query.Value, present bool) {
	values, present = query.ValuesOf(payload.GetData())
	if attributes.TypeOf(payload) != enums.INDEXED_VALUE_TYPE_TEXT {
		return values, present
	}
	for _, v := range values {
		if v.Kind != query.Text {
			continue
		}
		for _, word := range append(query.Words(v.Text), query.Words(strings.ToLower(v.Text))...) {
			values = append(values, query.TextOf(word))
		}
	}
	return values, present
}
