package figures

import (
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{5, 1, 3}, spread{3, 1, 5}},
		{[]float64{4, 1, 2, 3}, spread{2.5, 1, 4}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("the spread of %v is %v, not %v", c.values, got, c.want)
		}
	}
}

func TestQuotients(t *testing.T) {
	if got := quotients([]float64{2, 6, 9}, []float64{1, 2, 3}); !slices.Equal(got, []float64{2, 3, 3}) {
		t.Errorf("the quotients per round are %v", got)
	}
	if got := quotients([]float64{2, 6}, []float64{2}); !slices.Equal(got, []float64{1, 3}) {
		t.Errorf("the quotients by one limit are %v", got)
	}
}
