// metrics-api serves the metrics.k8s.io API for autoscaling tests. For each container of the pods that match a request's label selector, it
// reports the CPU usage that the -cpu flag sets.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

const root = "/apis/metrics.k8s.io/v1beta1"

func main() {
	cpu := flag.String("cpu", "10m", "the CPU usage of each container")
	flag.Parse()
	if err := run(*cpu); err != nil {
		fmt.Fprintln(os.Stderr, "metrics-api: "+err.Error())
		os.Exit(1)
	}
}

func run(cpu string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	chain, key, err := cert.GenerateSelfSignedCertKey("metrics-api", nil, nil) // clients must skip the verification of this certificate
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root, discover)
	mux.HandleFunc("GET "+root+"/namespaces/{namespace}/pods", func(w http.ResponseWriter, r *http.Request) {
		list, err := pods.CoreV1().Pods(r.PathValue("namespace")).List(r.Context(),
			metav1.ListOptions{LabelSelector: r.FormValue("labelSelector")})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, usage(list.Items, cpu))
	})
	server := &http.Server{Addr: ":8443", Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	return server.ListenAndServeTLS("", "")
}

func discover(w http.ResponseWriter, _ *http.Request) {
	answer(w, metav1.APIResourceList{
		APIVersion: "v1", Kind: "APIResourceList",
		GroupVersion: "metrics.k8s.io/v1beta1",
		APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"list"}}},
	})
}

// usage returns a PodMetricsList with the same CPU usage for each container.
func usage(pods []corev1.Pod, cpu string) map[string]any {
	items := []any{}
	for i := range pods {
		containers := []any{}
		for _, c := range pods[i].Spec.Containers {
			containers = append(containers, map[string]any{"name": c.Name, "usage": map[string]string{"cpu": cpu, "memory": "16Mi"}})
		}
		items = append(items, map[string]any{
			"metadata":  map[string]any{"namespace": pods[i].Namespace, "name": pods[i].Name},
			"timestamp": time.Now().UTC().Format(time.RFC3339), "window": "1s", "containers": containers,
		})
	}
	return map[string]any{"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "metadata": map[string]any{}, "items": items}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
