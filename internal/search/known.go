package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/attributes"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/kv"
)

// added stores which search attributes have been added to a namespace.
func (j *journals) added(ctx context.Context, tx *sql.Tx, namespace string, m *bus.Message) error {
	var record attributes.Record
	if !kv.IsTombstone(m.Header) {
		if err := json.Unmarshal(m.Data, &record); err != nil {
			j.log.WarnContext(ctx, "search index passes over the search attributes of a namespace", "namespace", namespace, "error", err)
			return nil
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM added_types WHERE namespace = ?", namespace)
	for name, kind := range record.Types {
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO added_types VALUES (?, ?, ?)", namespace, name, int64(kind))
		}
	}
	return err
}

func (d *database) types(ctx context.Context, table, namespace string) (map[string]enums.IndexedValueType, error) {
	rows, err := d.reader.QueryContext(ctx, "SELECT name, type FROM "+table+" WHERE namespace = ?", namespace)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := map[string]enums.IndexedValueType{}
	for rows.Next() {
		var name string
		var of enums.IndexedValueType
		if err := rows.Scan(&name, &of); err != nil {
			return nil, err
		}
		types[name] = of
	}
	return types, rows.Err()
}

// ParseExecutions parses a query about the executions of a namespace. The error is a *query.Error, or says that the index cannot be read.
func (x *Index) ParseExecutions(ctx context.Context, namespace, text string) (q *query.Query, err error) {
	if strings.TrimSpace(text) == "" {
		return &query.Query{}, nil
	}
	known := query.Known{}
	err = x.read(x.executions, func(d *database) error {
		for _, table := range []string{"attribute_types", "added_types"} { // what was added counts more than what was seen
			types, err := d.types(ctx, table, namespace)
			if err != nil {
				return err
			}
			for name, kind := range types {
				known[name] = query.Attribute{Type: kind, Added: table == "added_types"}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return query.ParseExecutions(text, known)
}
