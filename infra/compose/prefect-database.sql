-- Prefect's own database beside that of Lorebase, made with the first start of an empty volume.
CREATE DATABASE prefect;
