{{- define "codemode.labels" -}}
app.kubernetes.io/name: codemode
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
