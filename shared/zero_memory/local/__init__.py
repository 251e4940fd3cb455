"""The deployment on one machine: what `template.yaml` declares, served without a cloud."""
